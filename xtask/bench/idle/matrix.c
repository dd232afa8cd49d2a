/* Multiplies matrices. Prints a sum, so that every build can be seen to compute the same. */
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 220, ROUNDS = 30 };

int main(void) {
    double *a = malloc(sizeof(double) * SIZE * SIZE);
    double *b = malloc(sizeof(double) * SIZE * SIZE);
    double *product = malloc(sizeof(double) * SIZE * SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                double sum = 0;
                for (int k = 0; k < SIZE; k++)
                    sum += a[i * SIZE + k] * b[k * SIZE + j];
                product[i * SIZE + j] = sum;
            }
        }
        a[round] = (double)((long)product[round] % 7);
    }
    double sum = 0;
    for (int i = 0; i < SIZE * SIZE; i++)
        sum += product[i];
    printf("%.0f\n", sum);
    return 0;
}
