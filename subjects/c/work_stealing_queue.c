/* A work-stealing queue in a ring that grows: the owner pushes and pops at the tail, a thief
   takes at the head. A thief moves the head before it reads the item, so a push must leave one
   place free more than the head says; here it does not, and writes over what is being stolen. */

#include "threads.h"

#include <stdatomic.h>

enum { ITEMS = 4, ATTEMPTS = 2, SIZE = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int head, tail;
static int *slots;
static int mask = SIZE - 1;
static int taken[ITEMS];

/* Moves everything to a ring of twice the size. */
static void grow(void) {
    pthread_mutex_lock(&lock);
    int first = head, count = tail - first;
    int *larger = malloc(2 * (size_t)(mask + 1) * sizeof *larger);
    for (int i = 0; i < count; i++)
        larger[i] = slots[(first + i) & mask];
    free(slots);
    slots = larger;
    mask = 2 * mask + 1;
    head = 0;
    tail = count;
    pthread_mutex_unlock(&lock);
}

static void push(int item) {
#ifdef FIXED
    int room = mask;
#else
    int room = mask + 1;
#endif
    if (tail >= head + room)
        grow();
    int t = tail;
    slots[t & mask] = item;
    tail = t + 1;
}

static int pop(int *item) {
    int t = tail - 1;
    tail = t;
    int has_item = head <= t;
    if (!has_item) {
        /* A thief may be at it: it either has taken the item or gives it back. */
        tail = t + 1;
        pthread_mutex_lock(&lock);
        has_item = head <= t;
        if (has_item)
            tail = t;
        pthread_mutex_unlock(&lock);
    }
    if (has_item)
        *item = slots[t & mask];
    return has_item;
}

static int steal(int *item) {
    pthread_mutex_lock(&lock);
    int h = head;
    head = h + 1;
    int has_item = h < tail;
    if (has_item)
        *item = slots[h & mask];
    else
        head = h;
    pthread_mutex_unlock(&lock);
    return has_item;
}

static void *thief(void *unused) {
    int item;
    for (int i = 0; i < ATTEMPTS; i++) {
        if (steal(&item))
            taken[item]++;
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    int item;
    slots = malloc(SIZE * sizeof *slots);
    pthread_create(&thread, NULL, thief, NULL);
    for (int i = 0; i < ITEMS; i += 2) {
        push(i);
        push(i + 1);
        if (pop(&item))
            taken[item]++;
    }
    for (int i = 0; i < ITEMS / 2; i++) {
        if (pop(&item))
            taken[item]++;
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < ITEMS; i++)
        assert(taken[i] == 1);
    free(slots);
}
