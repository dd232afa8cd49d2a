/* Something is done once, under a lock that the last waiter frees. The waiters are counted without synchronisation, so that
   the lock may be freed while another thread is about to use it. Shape of CVE-2016-1972. */

#include "threads.h"

#include <stdatomic.h>

static pthread_mutex_t *lock;
static int done;
#ifdef FIXED
static atomic_int users = 2;
#else
static int waiters;
#endif

static void *once(void *unused) {
#ifndef FIXED
    if (done)
        return unused;
    waiters++;
#endif
    pthread_mutex_lock(lock);
    done = 1;
    pthread_mutex_unlock(lock);
#ifdef FIXED
    if (--users == 0)
        free(lock);
#else
    if (--waiters == 0) {
        free(lock);
        lock = NULL;
    }
#endif
    return unused;
}

int main(void) {
    lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, NULL);
    const body bodies[] = {once, once};
    run_all(bodies, COUNT(bodies));
}
