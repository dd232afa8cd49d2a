/* A work-stealing queue without locks: thieves take at the head by compare-and-swap, the owner pops at the tail. The owner and a
   thief have to compete for the last item; here the owner takes it without asking.

   With FRAMES, local variables stand on the heap, so that accesses to them are scheduling points like those to shared memory:
   as with tools that instrument compiled programs. */

#include "threads.h"

#include <stdatomic.h>

#ifndef THIEVES
#define THIEVES 1
#endif
enum { ITEMS = 4, ATTEMPTS = 2 };

static atomic_long head, tail;
static atomic_int slots[ITEMS];
static atomic_int taken[ITEMS];

/* The local variables of a thread. */
struct frame {
    volatile long head, tail;
    volatile int item;
};

#ifdef FRAMES
#define NEW_FRAME(name) struct frame *name = calloc(1, sizeof *name)
#else
#define NEW_FRAME(name) struct frame on_stack = {0}, *name = &on_stack
#endif

static void push(struct frame *my, int item) {
    my->tail = tail;
    slots[my->tail % ITEMS] = item;
    tail = my->tail + 1;
}

static int pop(struct frame *my) {
    my->tail = tail - 1;
    tail = my->tail;
    my->head = head;
    if (my->head > my->tail) {
        tail = my->tail + 1;
        return 0;
    }
    my->item = slots[my->tail % ITEMS];
#ifdef FIXED
    if (my->head == my->tail) {
        long expected = my->head;
        int is_ours = atomic_compare_exchange_strong(&head, &expected, expected + 1);
        tail = my->tail + 1;
        return is_ours;
    }
#endif
    return 1;
}

static int steal(struct frame *my) {
    my->head = head;
    my->tail = tail;
    if (my->head >= my->tail)
        return 0;
    my->item = slots[my->head % ITEMS];
    long expected = my->head;
    return atomic_compare_exchange_strong(&head, &expected, expected + 1);
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
    pthread_t threads[THIEVES];
    NEW_FRAME(my);
    for (int i = 0; i < THIEVES; i++)
        pthread_create(&threads[i], NULL, thief, NULL);
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
    for (int i = 0; i < THIEVES; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ITEMS; i++)
        assert(taken[i] == 1);
}
