/* Fills and asks a hash table with open addressing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1 << 16, KEYS = 40000, ROUNDS = 300 };

struct slot {
    uint64_t key;
    uint64_t count;
};

static struct slot *table;

static struct slot *find(uint64_t key) {
    uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 48;
    while (table[at].key != 0 && table[at].key != key)
        at = (at + 1) & (SLOTS - 1);
    return &table[at];
}

int main(void) {
    table = calloc(SLOTS, sizeof *table);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t state = 1;
        for (int i = 0; i < KEYS; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            struct slot *slot = find((state >> 32) | 1);
            slot->key = (state >> 32) | 1;
            slot->count++;
        }
    }
    uint64_t sum = 0;
    for (int i = 0; i < SLOTS; i++)
        sum += table[i].key % 1000 * table[i].count;
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
