/* Two classes of users share a room: the first of a class takes the room's lock, the last one
   gives it back. Both classes count under one lock, which the first one keeps while it waits
   for the room; then those inside cannot leave. Two more threads do nothing. */

#include "threads.h"

static pthread_mutex_t room = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t counts[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int inside[2];

static void use(int class) {
#ifdef FIXED
    pthread_mutex_t *count = &counts[class];
#else
    pthread_mutex_t *count = &counts[0];
#endif
    pthread_mutex_lock(count);
    inside[class]++;
    if (inside[class] == 1)
        pthread_mutex_lock(&room);
    pthread_mutex_unlock(count);
    pthread_mutex_lock(count);
    inside[class]--;
    if (inside[class] == 0)
        pthread_mutex_unlock(&room);
    pthread_mutex_unlock(count);
}

static void *one(void *unused) {
    use(0);
    return unused;
}

static void *other(void *unused) {
    use(1);
    return unused;
}

static void *idle(void *unused) {
    return unused;
}

int main(void) {
    const body bodies[] = {one, other, idle, idle};
    run_all(bodies, COUNT(bodies));
}
