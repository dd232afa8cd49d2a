/* An instance is made by the first user and destroyed with the last reference. Counting and making are two steps: a user may
   get an instance that another thread is about to replace or destroy. Shape of CVE-2016-1973. */

#include "threads.h"

#include <stdatomic.h>

struct database {
    int entries;
};

#ifdef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static atomic_int references;
static struct database *_Atomic instance;

static struct database *acquire(void) {
    if (references != 0 && atomic_fetch_add(&references, 1) != 0)
        return instance;
    struct database *made = calloc(1, sizeof *made);
    if (atomic_fetch_add(&references, 1) == 0) {
        instance = made;
    } else {
        atomic_fetch_sub(&references, 1);
        free(made);
    }
    return instance;
}

static void release(void) {
    if (atomic_fetch_sub(&references, 1) == 1)
        free(atomic_exchange(&instance, NULL));
}

static void *use(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    struct database *database = acquire();
    database->entries++;
    release();
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}

int main(void) {
    const body bodies[] = {use, use};
    run_all(bodies, COUNT(bodies));
}
