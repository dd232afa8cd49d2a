/* A key is found valid before its lock is taken, and read after it: in between another thread may revoke it.
   Shape of CVE-2015-7550. */

#include "threads.h"

struct payload {
    long keys;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct payload content = {1};
static struct payload *payload = &content;
static int revoked;
static long seen;

static void *read_key(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    if (!revoked)
        seen = payload->keys;
    pthread_mutex_unlock(&lock);
#else
    if (!revoked) {
        pthread_mutex_lock(&lock);
        seen = payload->keys;
        pthread_mutex_unlock(&lock);
    }
#endif
    return unused;
}

static void *revoke(void *unused) {
    pthread_mutex_lock(&lock);
    revoked = 1;
    payload = NULL;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    const body bodies[] = {read_key, revoke};
    run_all(bodies, COUNT(bodies));
}
