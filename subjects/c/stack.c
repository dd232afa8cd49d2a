/* One thread pushes, another one pops as soon as a flag says that there is something. Nobody
   ever takes the flag back, so that the second one may pop more than there is. */

#include "threads.h"

enum { SIZE = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stack[SIZE], top, has_items;

static void *push(void *unused) {
    for (int i = 0; i < SIZE; i++) {
        pthread_mutex_lock(&lock);
        assert(top < SIZE);
        stack[top++] = i;
        has_items = 1;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *pop(void *unused) {
    for (int i = 0; i < SIZE; i++) {
        pthread_mutex_lock(&lock);
        if (has_items) {
            assert(top > 0);
            top--;
#ifdef FIXED
            has_items = top > 0;
#endif
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    const body bodies[] = {push, pop};
    run_all(bodies, COUNT(bodies));
}
