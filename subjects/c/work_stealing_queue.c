/* A work-stealing queue in a ring that grows: the owner pushes and pops at the tail, a thief
   takes at the head. A thief moves the head before it reads the item, so a push must leave one
   place free more than the head says; here it does not, and writes over what is being stolen.

   With FRAMES, local variables stand on the heap, so that accesses to them are scheduling points
   like those to shared memory: as with tools that instrument compiled programs. */

#include "threads.h"

#include <stdatomic.h>

enum { ITEMS = 4, ATTEMPTS = 2, SIZE = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long head, tail;
static int *slots;
static long mask = SIZE - 1;
static int taken[ITEMS];

/* The local variables of a thread. */
struct frame {
    volatile long head, tail, count, place, item;
};

#ifdef FRAMES
#define NEW_FRAME(name) struct frame *name = calloc(1, sizeof *name)
#else
#define NEW_FRAME(name) struct frame on_stack = {0}, *name = &on_stack
#endif

/* Begins the ring at its first place again, twice as large if it is full, and pushes. */
static void push_locked(struct frame *my, int item) {
    pthread_mutex_lock(&lock);
    my->head = head;
    my->count = tail - my->head;
    my->head &= mask;
    head = my->head;
    tail = my->head + my->count;
    if (my->count >= mask) {
        int *larger = malloc(2 * (size_t)(mask + 1) * sizeof *larger);
        for (my->place = 0; my->place < my->count; my->place++)
            larger[my->place] = slots[(my->head + my->place) & mask];
        free(slots);
        slots = larger;
        mask = 2 * mask + 1;
        head = 0;
        tail = my->count;
    }
    my->tail = tail;
    slots[my->tail & mask] = item;
    tail = my->tail + 1;
    pthread_mutex_unlock(&lock);
}

static void push(struct frame *my, int item) {
#ifdef FIXED
    const int spare = 1;
#else
    const int spare = 0;
#endif
    my->tail = tail;
    if (my->tail < head + mask + 1 - spare) {
        slots[my->tail & mask] = item;
        tail = my->tail + 1;
    } else {
        push_locked(my, item);
    }
}

/* No thief is at it: the item is there, or the queue is empty and begins again. */
static int pop_locked(struct frame *my) {
    pthread_mutex_lock(&lock);
    my->tail = tail - 1;
    int has_item = head <= my->tail;
    if (has_item) {
        tail = my->tail;
        my->item = slots[my->tail & mask];
    } else {
        head = 0;
        tail = 0;
    }
    pthread_mutex_unlock(&lock);
    return has_item;
}

static int pop(struct frame *my) {
    my->tail = tail - 1;
    tail = my->tail;
    if (head <= my->tail) {
        my->item = slots[my->tail & mask];
        return 1;
    }
    /* A thief may be at it: it either has taken the item or gives it back. */
    tail = my->tail + 1;
    return pop_locked(my);
}

static int steal(struct frame *my) {
    pthread_mutex_lock(&lock);
    my->head = head;
    head = my->head + 1;
    int has_item = my->head < tail;
    if (has_item)
        my->item = slots[my->head & mask];
    else
        head = my->head;
    pthread_mutex_unlock(&lock);
    return has_item;
}

static void *thief(void *unused) {
    NEW_FRAME(my);
    for (int i = 0; i < ATTEMPTS; i++) {
        if (steal(my))
            taken[my->item]++;
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    NEW_FRAME(my);
    slots = malloc(SIZE * sizeof *slots);
    pthread_create(&thread, NULL, thief, NULL);
    for (int i = 0; i < ITEMS; i += 2) {
        push(my, i);
        push(my, i + 1);
        if (pop(my))
            taken[my->item]++;
    }
    for (int i = 0; i < ITEMS / 2; i++) {
        if (pop(my))
            taken[my->item]++;
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < ITEMS; i++)
        assert(taken[i] == 1);
    free(slots);
}
