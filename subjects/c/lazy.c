/* Two threads fill a value; a third one believes that nobody can be that far when it looks. */

#include "threads.h"

#ifdef FIXED
enum { MOST = 3 };
#else
enum { MOST = 2 };
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *look(void *unused) {
    pthread_mutex_lock(&lock);
    assert(value <= MOST);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *add_one(void *unused) {
    pthread_mutex_lock(&lock);
    value += 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *add_two(void *unused) {
    pthread_mutex_lock(&lock);
    value += 2;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    const body bodies[] = {look, add_one, add_two};
    run_all(bodies, COUNT(bodies));
}
