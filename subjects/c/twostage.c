/* Two values belong together, each under its own lock. A reader that comes between the two
   stages of an update sees one of them new and the other one old. */

#include "threads.h"

#ifndef WRITERS
#define WRITERS 1
#endif

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
#ifndef FIXED
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static int first, second;

static void *write_both(void *unused) {
    pthread_mutex_lock(&first_lock);
    first = 1;
#ifdef FIXED
    second = first + 1;
    pthread_mutex_unlock(&first_lock);
#else
    pthread_mutex_unlock(&first_lock);
    pthread_mutex_lock(&second_lock);
    second = first + 1;
    pthread_mutex_unlock(&second_lock);
#endif
    return unused;
}

static void *read_both(void *unused) {
    pthread_mutex_lock(&first_lock);
    int one = first;
#ifdef FIXED
    int other = second;
#endif
    pthread_mutex_unlock(&first_lock);
    if (one == 0)
        return unused;
#ifndef FIXED
    pthread_mutex_lock(&second_lock);
    int other = second;
    pthread_mutex_unlock(&second_lock);
#endif
    assert(other == one + 1);
    return unused;
}

int main(void) {
    body bodies[WRITERS + 1];
    for (int i = 0; i < WRITERS; i++)
        bodies[i] = write_both;
    bodies[WRITERS] = read_both;
    run_all(bodies, COUNT(bodies));
}
