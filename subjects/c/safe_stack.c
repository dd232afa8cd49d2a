/* A lock-free stack of indices that guards against ABA by taking the next index out of the node while it pops. It fails all the
   same, if three threads interleave with five preemptions: two threads own the same index. */

#include "threads.h"

#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 3, ROUNDS = 2, NODES = 3, NONE = -1 };

static atomic_int head, count = NODES;
static atomic_int next[NODES];
static atomic_int owner[NODES];
#ifdef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static int try_pop(void) {
    while (count > 1) {
        int top = head;
        int below = atomic_exchange(&next[top], NONE);
        if (below == NONE) {
            sched_yield();
            continue;
        }
        int expected = top;
        if (atomic_compare_exchange_strong(&head, &expected, below)) {
            count--;
            return top;
        }
        atomic_exchange(&next[top], below);
    }
    return NONE;
}

static int pop(void) {
    for (;;) {
#ifdef FIXED
        pthread_mutex_lock(&lock);
#endif
        int node = try_pop();
#ifdef FIXED
        pthread_mutex_unlock(&lock);
#endif
        if (node != NONE)
            return node;
        sched_yield();
    }
}

static void push(int node) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    int top = head;
    do {
        next[node] = top;
    } while (!atomic_compare_exchange_strong(&head, &top, node));
    count++;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
}

static void *work(void *number) {
    int me = (int)(size_t)number;
    for (int i = 0; i < ROUNDS; i++) {
        int node = pop();
        owner[node] = me;
        assert(owner[node] == me);
        push(node);
    }
    return NULL;
}

int main(void) {
    for (int i = 0; i < NODES; i++)
        next[i] = i + 1 < NODES ? i + 1 : NONE;
    body bodies[THREADS];
    for (int i = 0; i < THREADS; i++)
        bodies[i] = work;
    run_all(bodies, COUNT(bodies));
}
