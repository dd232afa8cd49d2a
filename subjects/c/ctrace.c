/* A tracing library keeps a list of the threads that it knows. A thread that signs in puts
   itself before the first one, without a lock: of two at a time one gets lost, and does not
   find itself later. */

#include "threads.h"

enum { THREADS = 2 };

struct record {
    size_t thread;
    int depth;
    struct record *next;
};

static struct record records[THREADS];
static struct record *known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void sign_in(size_t thread) {
    struct record *record = &records[thread];
    record->thread = thread;
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    record->next = known;
    known = record;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
}

static struct record *find(size_t thread) {
    pthread_mutex_lock(&lock);
    struct record *record = known;
    while (record != NULL && record->thread != thread)
        record = record->next;
    pthread_mutex_unlock(&lock);
    return record;
}

static void trace(size_t thread, int step) {
    struct record *record = find(thread);
    assert(record != NULL);
    record->depth += step;
}

static void *work(void *number) {
    size_t thread = (size_t)number;
    sign_in(thread);
    trace(thread, 1);
    trace(thread, -1);
    return NULL;
}

int main(void) {
    const body bodies[THREADS] = {work, work};
    run_all(bodies, COUNT(bodies));
    for (size_t i = 0; i < THREADS; i++)
        assert(records[i].depth == 0);
}
