/* Philosophers at a round table who all take the fork at the same hand first. */

#include "threads.h"

#ifndef SEATS
#define SEATS 3
#endif

static pthread_mutex_t forks[SEATS];
static int meals;
static pthread_mutex_t meals_lock = PTHREAD_MUTEX_INITIALIZER;

static void *dine(void *number) {
    size_t left = (size_t)number, right = (left + 1) % SEATS;
#ifdef FIXED
    if (left > right) {
        size_t other = left;
        left = right;
        right = other;
    }
#endif
    pthread_mutex_lock(&forks[left]);
    pthread_mutex_lock(&forks[right]);
    pthread_mutex_lock(&meals_lock);
    meals++;
    pthread_mutex_unlock(&meals_lock);
    pthread_mutex_unlock(&forks[right]);
    pthread_mutex_unlock(&forks[left]);
    return NULL;
}

int main(void) {
    body bodies[SEATS];
    for (int i = 0; i < SEATS; i++) {
        pthread_mutex_init(&forks[i], NULL);
        bodies[i] = dine;
    }
    run_all(bodies, COUNT(bodies));
    assert(meals == SEATS);
}
