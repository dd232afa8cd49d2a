/* Each thread has one assertion more than the one before: it writes its number into a common
   place and requires to find it there, once, twice, three times, ... */

#include "threads.h"

#ifndef THREADS
#define THREADS 3
#endif

static int place;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *number) {
    int own = (int)(size_t)number;
    for (int i = 0; i <= own; i++) {
#ifdef FIXED
        pthread_mutex_lock(&lock);
#endif
        place = own;
        assert(place == own);
#ifdef FIXED
        pthread_mutex_unlock(&lock);
#endif
    }
    return NULL;
}

int main(void) {
    body bodies[THREADS];
    for (int i = 0; i < THREADS; i++)
        bodies[i] = work;
    run_all(bodies, COUNT(bodies));
    (void)lock;
}
