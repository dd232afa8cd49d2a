/* A bounded buffer that signals only if a count says that a thread waits. The count is raised after the lock was released for
   a moment: a signal that falls into this gap is not sent, and the thread waits for ever. */

#include "threads.h"

#ifndef PAIRS
#define PAIRS 5
#endif
enum { SIZE = 2, ITEMS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int items, consumers_waiting, producers_waiting;

/* Waits once, and says in `waiting` that it does. */
static void wait_for(pthread_cond_t *condition, int *waiting) {
#ifndef FIXED
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
#endif
    ++*waiting;
    pthread_cond_wait(condition, &lock);
    --*waiting;
}

static void *produce(void *unused) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (items == SIZE)
            wait_for(&not_full, &producers_waiting);
        items++;
        if (consumers_waiting > 0)
            pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *consume(void *unused) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (items == 0)
            wait_for(&not_empty, &consumers_waiting);
        items--;
        if (producers_waiting > 0)
            pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    body bodies[2 * PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        bodies[i] = produce;
        bodies[PAIRS + i] = consume;
    }
    run_all(bodies, COUNT(bodies));
}
