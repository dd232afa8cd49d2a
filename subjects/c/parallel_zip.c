/* The main thread frees the queue as soon as the producer has ended, while a consumer may still be about to use its lock.
   Shape of an old parallel compressor. */

#include "threads.h"

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int blocks;
    int all_done;
};

static struct queue *queue;

static void *consume(void *unused) {
    for (;;) {
        pthread_mutex_lock(&queue->lock);
        while (queue->blocks == 0 && !queue->all_done)
            pthread_cond_wait(&queue->changed, &queue->lock);
        int is_over = queue->blocks == 0;
        if (!is_over)
            queue->blocks--;
        pthread_mutex_unlock(&queue->lock);
        if (is_over)
            return unused;
    }
}

static void produce(void) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&queue->lock);
        queue->blocks++;
        pthread_cond_signal(&queue->changed);
        pthread_mutex_unlock(&queue->lock);
    }
    pthread_mutex_lock(&queue->lock);
    queue->all_done = 1;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

int main(void) {
    queue = calloc(1, sizeof *queue);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    pthread_t consumer;
    pthread_create(&consumer, NULL, consume, NULL);
    produce();
#ifdef FIXED
    pthread_join(consumer, NULL);
#endif
    free(queue);
#ifndef FIXED
    pthread_join(consumer, NULL);
#endif
}
