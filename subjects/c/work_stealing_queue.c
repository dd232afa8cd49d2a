/* A work-stealing queue: the owner pushes and pops at the tail, a thief takes at the head. A
   thief has to say that it takes an item before it looks whether there is one; here it looks
   first, so that owner and thief may both take the last one. */

#include "threads.h"

#include <stdatomic.h>

enum { ITEMS = 4, ATTEMPTS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int head, tail;
static int slots[ITEMS];
static int taken[ITEMS];

static void push(int item) {
    int t = tail;
    slots[t] = item;
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
        *item = slots[t];
    return has_item;
}

static int steal(int *item) {
    pthread_mutex_lock(&lock);
    int h = head;
#ifdef FIXED
    head = h + 1;
    int has_item = h < tail;
    if (!has_item)
        head = h;
#else
    int has_item = h < tail;
    if (has_item)
        head = h + 1;
#endif
    if (has_item)
        *item = slots[h];
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
}
