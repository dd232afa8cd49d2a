/* A port is put into a list under the lock and filled in afterwards. Another thread, which sleeps first, removes and frees the
   ports that it finds. Shape of CVE-2017-15265. */

#include "threads.h"

#include <unistd.h>

struct port {
    struct port *next;
    int type;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct port *ports;

static void *create(void *unused) {
    struct port *port = calloc(1, sizeof *port);
#ifdef FIXED
    port->type = 7;
#endif
    pthread_mutex_lock(&lock);
    port->next = ports;
    ports = port;
    pthread_mutex_unlock(&lock);
#ifndef FIXED
    port->type = 7;
#endif
    return unused;
}

static void *delete_all(void *unused) {
    sleep(1);
    pthread_mutex_lock(&lock);
    struct port *port = ports;
    ports = NULL;
    pthread_mutex_unlock(&lock);
    while (port != NULL) {
        struct port *next = port->next;
        free(port);
        port = next;
    }
    return unused;
}

int main(void) {
    const body bodies[] = {create, delete_all};
    run_all(bodies, COUNT(bodies));
}
