/* Each thread stores its buffer in the socket under the lock, and frees what the socket has after the lock was released: perhaps
   the other thread's buffer, twice. The second thread sleeps first. Shape of CVE-2016-9806. */

#include "threads.h"

#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *buffer;

static void dump(void) {
    pthread_mutex_lock(&lock);
    buffer = malloc(16);
#ifdef FIXED
    free(buffer);
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    free(buffer);
#endif
}

static void *at_once(void *unused) {
    dump();
    return unused;
}

static void *later(void *unused) {
    sleep(1);
    dump();
    return unused;
}

int main(void) {
    const body bodies[] = {at_once, later};
    run_all(bodies, COUNT(bodies));
}
