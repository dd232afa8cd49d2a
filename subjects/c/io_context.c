/* A pointer is tested and then used, without the lock under which another thread clears it. Shape of CVE-2016-7911. */

#include "threads.h"

struct context {
    int priority;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context context = {1};
static struct context *volatile task_context = &context;
static int seen;

static void *read_priority(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    if (task_context != NULL)
        seen = task_context->priority;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

static void *leave(void *unused) {
    pthread_mutex_lock(&lock);
    task_context = NULL;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    const body bodies[] = {read_priority, leave};
    run_all(bodies, COUNT(bodies));
}
