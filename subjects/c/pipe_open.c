/* A pipe's state is released by one thread while another opens the pipe: both hold the lock, but the second does not look
   whether the state is still there. Shape of CVE-2009-3547. */

#include "threads.h"

struct pipe {
    int readers;
};

static struct pipe state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pipe *pipe_state = &state;

static void *open_pipe(void *unused) {
    pthread_mutex_lock(&lock);
#ifdef FIXED
    if (pipe_state != NULL)
#endif
        pipe_state->readers++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *release(void *unused) {
    pthread_mutex_lock(&lock);
    pipe_state = NULL;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    const body bodies[] = {open_pipe, release};
    run_all(bodies, COUNT(bodies));
}
