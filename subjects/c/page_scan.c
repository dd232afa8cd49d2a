/* A scanner walks a list of address spaces. It takes the next one under the lock and uses it after the lock was released,
   while its owner may take it off the list and clear it. Shape of CVE-2011-2183. */

#include "threads.h"

struct slot {
    struct slot *next;
    int *pages;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pages = 3;
static struct slot only = {NULL, &pages};
static struct slot head = {&only, NULL};
static int scanned;

static void *scan(void *unused) {
    pthread_mutex_lock(&lock);
    struct slot *slot = head.next;
#ifdef FIXED
    if (slot != NULL)
        scanned += *slot->pages;
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    /* An empty list was thought to be impossible here. */
    scanned += *slot->pages;
#endif
    return unused;
}

static void *leave(void *unused) {
    pthread_mutex_lock(&lock);
    head.next = only.next;
    only.pages = NULL;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    const body bodies[] = {scan, leave};
    run_all(bodies, COUNT(bodies));
}
