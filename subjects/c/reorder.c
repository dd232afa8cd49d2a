/* Many threads set two variables, one after the other; others require that both are set or
   none is. Only a checker that comes after somebody's first write and before everybody's
   second one sees the bug. */

#include "threads.h"

#ifndef SETTERS
#define SETTERS 2
#endif
#ifndef CHECKERS
#define CHECKERS 1
#endif

static int a, b;

#ifdef FIXED
static pthread_mutex_t both = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&both)
#define UNLOCK() pthread_mutex_unlock(&both)
#else
#define LOCK()
#define UNLOCK()
#endif

static void *set(void *unused) {
    LOCK();
    a = 1;
    b = -1;
    UNLOCK();
    return unused;
}

static void *check(void *unused) {
    LOCK();
    assert((a == 0 && b == 0) || (a == 1 && b == -1));
    UNLOCK();
    return unused;
}

int main(void) {
    body bodies[SETTERS + CHECKERS];
    for (int i = 0; i < SETTERS + CHECKERS; i++)
        bodies[i] = i < SETTERS ? set : check;
    run_all(bodies, COUNT(bodies));
}
