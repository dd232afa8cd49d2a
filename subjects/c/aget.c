/* A download in parts. When it is interrupted, the number of bytes in all and the position of
   each part are saved; a part that has counted its bytes but not yet moved on is saved wrong,
   and would be loaded twice after a restart. */

#include "threads.h"

enum { PARTS = 2, BLOCKS = 2, BLOCK = 100 };

static int position[PARTS];
static int written;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *download(void *number) {
    size_t part = (size_t)number;
    for (int i = 0; i < BLOCKS; i++) {
        pthread_mutex_lock(&lock);
        written += BLOCK;
#ifdef FIXED
        position[part] += BLOCK;
        pthread_mutex_unlock(&lock);
#else
        pthread_mutex_unlock(&lock);
        position[part] += BLOCK;
#endif
    }
    return NULL;
}

static void *interrupt(void *unused) {
    int sum = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PARTS; i++)
        sum += position[i];
    assert(sum == written);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    const body bodies[] = {download, download, interrupt};
    run_all(bodies, COUNT(bodies));
}
