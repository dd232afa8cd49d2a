/* Two keyrings are installed one after the other under a lock. A thread that finds the first one without the lock goes on as
   if both were there. Shape of CVE-2013-1792. */

#include "threads.h"

struct keyring {
    int permissions;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct keyring *user_keyring, *session_keyring;

static void install(void) {
#ifndef FIXED
    if (user_keyring != NULL)
        return;
#endif
    pthread_mutex_lock(&lock);
    if (user_keyring == NULL) {
        user_keyring = calloc(1, sizeof *user_keyring);
        session_keyring = calloc(1, sizeof *session_keyring);
    }
    pthread_mutex_unlock(&lock);
}

static void *look_up(void *unused) {
    install();
    struct keyring *keyring = session_keyring;
    return keyring->permissions == 0 ? unused : keyring;
}

int main(void) {
    const body bodies[] = {look_up, look_up};
    run_all(bodies, COUNT(bodies));
    free(user_keyring);
    free(session_keyring);
}
