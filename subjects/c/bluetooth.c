/* A driver that is stopped while a request comes in. The request looks whether the driver is
   stopping and then counts itself, in two steps: in between the driver may stop for good. */

#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pending = 1;
static int is_stopping, is_idle, is_stopped;

static int enter(void) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    int entered = !is_stopping;
    pending += entered;
    pthread_mutex_unlock(&lock);
    return entered;
#else
    if (is_stopping)
        return 0;
    pthread_mutex_lock(&lock);
    pending++;
    pthread_mutex_unlock(&lock);
    return 1;
#endif
}

static void leave(void) {
    pthread_mutex_lock(&lock);
    pending--;
    if (pending == 0)
        is_idle = 1;
    pthread_mutex_unlock(&lock);
}

static void *stop(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    is_stopping = 1;
    pthread_mutex_unlock(&lock);
#else
    is_stopping = 1;
#endif
    leave();
    pthread_mutex_lock(&lock);
    if (is_idle)
        is_stopped = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t stopper;
    pthread_create(&stopper, NULL, stop, NULL);
    if (enter()) {
        assert(!is_stopped);
        leave();
    }
    pthread_join(stopper, NULL);
}
