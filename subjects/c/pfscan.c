/* A parallel scanner of files: workers take paths out of a queue until it is closed. It is
   closed without its lock, so that a worker that has just looked may miss it and sleep. */

#include "threads.h"

enum { PATHS = 3, WORKERS = 2 };

static int paths, is_closed, scanned;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void put(void) {
    pthread_mutex_lock(&lock);
    paths++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void close_queue(void) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    is_closed = 1;
    pthread_cond_broadcast(&changed);
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
}

static int get(void) {
    pthread_mutex_lock(&lock);
    while (paths == 0 && !is_closed)
        pthread_cond_wait(&changed, &lock);
    int has_path = paths > 0;
    paths -= has_path;
    scanned += has_path;
    pthread_mutex_unlock(&lock);
    return has_path;
}

static void *work(void *unused) {
    while (get())
        ;
    return unused;
}

int main(void) {
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (int i = 0; i < PATHS; i++)
        put();
    close_queue();
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    assert(scanned == PATHS);
}
