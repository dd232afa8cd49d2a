/* Sorts numbers by partitioning. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000000, ROUNDS = 3 };

static void sort(uint32_t *numbers, long count) {
    while (count > 1) {
        uint32_t pivot = numbers[count / 2];
        long low = 0, high = count - 1;
        while (low <= high) {
            while (numbers[low] < pivot)
                low++;
            while (numbers[high] > pivot)
                high--;
            if (low > high)
                break;
            uint32_t other = numbers[low];
            numbers[low++] = numbers[high];
            numbers[high--] = other;
        }
        sort(numbers, high + 1);
        numbers += low;
        count -= low;
    }
}

int main(void) {
    uint32_t *numbers = malloc(sizeof *numbers * COUNT);
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t state = round + 1;
        for (long i = 0; i < COUNT; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            numbers[i] = state >> 32;
        }
        sort(numbers, COUNT);
        for (long i = 0; i < COUNT; i += 1000)
            sum += numbers[i] ^ i;
    }
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
