/* Quicksort by a pool of workers: a worker that divides its part gives one half to an idle worker. The state of that worker says
   that it has work before its lock is held and the work is written down: a worker that has not gone to sleep yet begins with
   the work that it had before. */

#include "threads.h"

enum { WORKERS = 3, NUMBERS = 6, SMALL = 2 };

enum state { IDLE, WORK, END };

struct worker {
    enum state state;
    int *begin;
    int count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static struct worker workers[WORKERS];
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static int idle = WORKERS;
static int numbers[NUMBERS] = {4, 1, 5, 2, 6, 3};

/* An idle worker, which has work from now on, with its lock held. */
static struct worker *allocate(void) {
    pthread_mutex_lock(&pool_lock);
    for (int i = 0; i < WORKERS; i++) {
        struct worker *worker = &workers[i];
        if (worker->state == IDLE) {
            idle--;
#ifdef FIXED
            pthread_mutex_lock(&worker->lock);
            worker->state = WORK;
#else
            worker->state = WORK;
            pthread_mutex_lock(&worker->lock);
#endif
            pthread_mutex_unlock(&pool_lock);
            return worker;
        }
    }
    pthread_mutex_unlock(&pool_lock);
    return NULL;
}

static void hand_over(struct worker *worker, int *begin, int count) {
    worker->begin = begin;
    worker->count = count;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

static void insertion_sort(int *begin, int count) {
    for (int i = 1; i < count; i++) {
        for (int j = i; j > 0 && begin[j - 1] > begin[j]; j--) {
            int number = begin[j];
            begin[j] = begin[j - 1];
            begin[j - 1] = number;
        }
    }
}

/* Everything up to the result is at most as large as what follows. */
static int divide(int *begin, int count) {
    int pivot = begin[0], less = 0;
    for (int i = 1; i < count; i++) {
        if (begin[i] < pivot) {
            int number = begin[++less];
            begin[less] = begin[i];
            begin[i] = number;
        }
    }
    begin[0] = begin[less];
    begin[less] = pivot;
    return less + 1;
}

static void sort(int *begin, int count) {
    while (count > SMALL) {
        int half = divide(begin, count);
        struct worker *other = half < count ? allocate() : NULL;
        if (other != NULL)
            hand_over(other, begin + half, count - half);
        else
            sort(begin + half, count - half);
        count = half - 1;
    }
    insertion_sort(begin, count);
}

static void end_all(struct worker *except) {
    for (int i = 0; i < WORKERS; i++) {
        if (&workers[i] == except)
            continue;
        pthread_mutex_lock(&workers[i].lock);
        workers[i].state = END;
        pthread_cond_signal(&workers[i].changed);
        pthread_mutex_unlock(&workers[i].lock);
    }
}

static void *work(void *number) {
    struct worker *me = &workers[(size_t)number];
    for (;;) {
        pthread_mutex_lock(&me->lock);
        while (me->state == IDLE)
            pthread_cond_wait(&me->changed, &me->lock);
        enum state state = me->state;
        pthread_mutex_unlock(&me->lock);
        if (state == END)
            return NULL;
        sort(me->begin, me->count);
        pthread_mutex_lock(&pool_lock);
        me->state = IDLE;
        int all_idle = ++idle == WORKERS;
        pthread_mutex_unlock(&pool_lock);
        if (all_idle) {
            end_all(me);
            return NULL;
        }
    }
}

int main(void) {
    body bodies[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        pthread_mutex_init(&workers[i].lock, NULL);
        pthread_cond_init(&workers[i].changed, NULL);
        bodies[i] = work;
    }
    idle--;
    workers[0].state = WORK;
    workers[0].begin = numbers;
    workers[0].count = NUMBERS;
    run_all(bodies, COUNT(bodies));
    for (int i = 1; i < NUMBERS; i++)
        assert(numbers[i - 1] <= numbers[i]);
}
