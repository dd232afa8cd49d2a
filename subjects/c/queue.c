/* A queue, and a list of what was put into it to compare with. The list's places are the
   numbers of attempts, so that it has gaps when a turn is lost. */

#include "threads.h"

enum { SIZE = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queue[SIZE + 1], head, tail;
static int expected[SIZE + 1];
static int may_enqueue = 1, may_dequeue;

static void enqueue(int place, int value) {
    queue[tail++] = value;
    expected[place] = value;
}

static void *produce(void *unused) {
    int value = 1;
    pthread_mutex_lock(&lock);
    enqueue(0, value);
    pthread_mutex_unlock(&lock);
    for (int i = 1; i < SIZE; i++) {
        pthread_mutex_lock(&lock);
        if (may_enqueue) {
            value++;
#ifdef FIXED
            enqueue(tail, value);
#else
            enqueue(i, value);
#endif
            may_enqueue = 0;
            may_dequeue = 1;
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *consume(void *unused) {
    for (int i = 0; i < SIZE; i++) {
        pthread_mutex_lock(&lock);
        if (may_dequeue) {
#ifdef FIXED
            int place = head;
#else
            int place = i;
#endif
            assert(queue[head++] == expected[place]);
            may_dequeue = 0;
            may_enqueue = 1;
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    const body bodies[] = {produce, consume};
    run_all(bodies, COUNT(bodies));
}
