/* Two threads take two locks, each in its own order. */

#include "threads.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *forwards(void *unused) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    counter++;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return unused;
}

static void *backwards(void *unused) {
#ifdef FIXED
    return forwards(unused);
#else
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    counter--;
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return unused;
#endif
}

int main(void) {
    const body bodies[] = {forwards, backwards};
    run_all(bodies, COUNT(bodies));
}
