/* Successive over-relaxation of a row: the threads relax their red cells, meet at a barrier,
   and relax their black cells. What changed is added up without a lock. */

#include "threads.h"

enum { THREADS = 2, CELLS = 8, PART = CELLS / THREADS };

static int cells[CELLS + 2];
static int change;
static pthread_barrier_t meeting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int relax(int from, int to, int colour) {
    int sum = 0;
    for (int i = from; i < to; i++) {
        if (i % 2 != colour)
            continue;
        int next = (cells[i - 1] + cells[i + 1]) / 2;
        sum += abs(next - cells[i]);
        cells[i] = next;
    }
    return sum;
}

static void add(int sum) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    change += sum;
    pthread_mutex_unlock(&lock);
#else
    change += sum;
#endif
}

static void *work(void *number) {
    int from = 1 + (int)(size_t)number * PART;
    int sum = relax(from, from + PART, 0);
    pthread_barrier_wait(&meeting);
    sum += relax(from, from + PART, 1);
    pthread_barrier_wait(&meeting);
    add(sum);
    return NULL;
}

static void reset(void) {
    for (int i = 0; i < CELLS + 2; i++)
        cells[i] = i * i;
}

int main(void) {
    const body bodies[THREADS] = {work, work};
    reset();
    int expected = relax(1, CELLS + 1, 0);
    expected += relax(1, CELLS + 1, 1);
    reset();
    pthread_barrier_init(&meeting, NULL, THREADS);
    run_all(bodies, COUNT(bodies));
    assert(change == expected);
    (void)lock;
}
