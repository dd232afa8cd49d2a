/* A token goes round three places, and a fourth thread looks whether all have it once each
   place had its turn. Nothing makes the places take their turns in order. */

#include "threads.h"

enum { PLACES = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int token[PLACES] = {1, 2, 1};
static int turns;

#ifdef FIXED
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
#endif

static void *pass(void *number) {
    int place = (int)(size_t)number - 1;
    pthread_mutex_lock(&lock);
#ifdef FIXED
    while (turns != place)
        pthread_cond_wait(&turned, &lock);
    pthread_cond_broadcast(&turned);
#endif
    token[place] = place == 0 ? (token[PLACES - 1] + 1) % 4 : token[place - 1];
    turns++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *look(void *unused) {
    pthread_mutex_lock(&lock);
    if (turns == PLACES)
        assert(token[0] == token[1] && token[1] == token[2]);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    const body bodies[] = {look, pass, pass, pass};
    run_all(bodies, COUNT(bodies));
}
