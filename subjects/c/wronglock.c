/* A counter under a lock, and threads that count under another one. */

#include "threads.h"

#ifndef OTHERS
#define OTHERS 7
#endif

static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
#ifdef FIXED
#define wrong right
#else
static pthread_mutex_t wrong = PTHREAD_MUTEX_INITIALIZER;
#endif
static int counter;

static void *careful(void *unused) {
    pthread_mutex_lock(&right);
    int before = counter;
    counter++;
    assert(counter == before + 1);
    pthread_mutex_unlock(&right);
    return unused;
}

static void *careless(void *unused) {
    pthread_mutex_lock(&wrong);
    counter++;
    pthread_mutex_unlock(&wrong);
    return unused;
}

int main(void) {
    body bodies[OTHERS + 1];
    bodies[0] = careful;
    for (int i = 1; i <= OTHERS; i++)
        bodies[i] = careless;
    run_all(bodies, COUNT(bodies));
}
