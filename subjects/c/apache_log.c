/* A server's buffered log: a line is copied behind what is there, then the end is moved. Two
   threads that do so at a time write over each other's lines. */

#include "threads.h"

#include <string.h>

enum { THREADS = 2, LINE = 4, SIZE = 64 };

static char buffer[SIZE];
static int end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_line(const char *line) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    if (end + LINE <= SIZE) {
        memcpy(buffer + end, line, LINE);
        end += LINE;
    }
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
}

static void *serve(void *number) {
    write_line((size_t)number == 0 ? "get\n" : "put\n");
    return NULL;
}

int main(void) {
    const body bodies[THREADS] = {serve, serve};
    run_all(bodies, COUNT(bodies));
    assert(end == THREADS * LINE);
    assert(memcmp(buffer, "get\nput\n", 8) == 0 || memcmp(buffer, "put\nget\n", 8) == 0);
    (void)lock;
}
