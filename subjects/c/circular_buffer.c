/* A sender and a receiver take turns by two flags. Both go by the number of their attempts,
   also of those in which it was not their turn: if one of them loses a turn, the numbers
   sent and expected part. */

#include "threads.h"

enum { ROUNDS = 7, SIZE = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int buffer[SIZE];
static int next, first;
static int may_send = 1, may_receive;

static void *send(void *unused) {
    int sent = 0;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        if (may_send) {
#ifdef FIXED
            buffer[next] = sent;
#else
            buffer[next] = i;
#endif
            sent++;
            next = (next + 1) % SIZE;
            may_send = 0;
            may_receive = 1;
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *receive(void *unused) {
    int received = 0;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        if (may_receive) {
            int message = buffer[first];
            first = (first + 1) % SIZE;
#ifdef FIXED
            assert(message == received);
#else
            assert(message == i);
#endif
            received++;
            may_receive = 0;
            may_send = 1;
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    const body bodies[] = {send, receive};
    run_all(bodies, COUNT(bodies));
}
