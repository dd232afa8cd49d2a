/* Counts primes with a sieve. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 4000000, ROUNDS = 10 };

int main(void) {
    char *composite = malloc(LIMIT + 1);
    int primes = 0;
    for (int round = 0; round < ROUNDS; round++) {
        memset(composite, 0, LIMIT + 1);
        for (long i = 2; i <= LIMIT; i++) {
            if (composite[i])
                continue;
            primes++;
            for (long j = i * i; j <= LIMIT; j += i)
                composite[j] = 1;
        }
    }
    printf("%d\n", primes);
    return 0;
}
