/* Each thread stores a new block in the socket without the lock, fails under it, and frees the block that the socket has then.
   The first thread sleeps first. Shape of CVE-2017-6346. */

#include "threads.h"

#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long *rollover;
static int members;

static void add(void) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    rollover = malloc(sizeof *rollover);
    *rollover = 0;
#ifndef FIXED
    pthread_mutex_lock(&lock);
#endif
    members++;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
#endif
    free(rollover);
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
}

static void *later(void *unused) {
    sleep(1);
    add();
    return unused;
}

static void *at_once(void *unused) {
    add();
    return unused;
}

int main(void) {
    const body bodies[] = {later, at_once};
    run_all(bodies, COUNT(bodies));
}
