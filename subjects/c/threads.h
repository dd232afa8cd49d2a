/* What all subjects share: starting threads and waiting for them.

   Each subject is a small program with one bug that only some interleavings show. Compiled
   with -DFIXED it is the same program without the bug. */

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef void *(*body)(void *);

/* Runs each body in a thread of its own; its argument is its number. */
static inline void run_all(const body *bodies, size_t count) {
    pthread_t *threads = malloc(count * sizeof *threads);
    for (size_t i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, bodies[i], (void *)i) != 0)
            exit(3);
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}
