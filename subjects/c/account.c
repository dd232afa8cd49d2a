/* A deposit, a withdrawal and an audit of one account. The audit expects the wrong sum, which
   shows only if it comes after both. */

#include "threads.h"

enum { START = 10, IN = 4, OUT = 3 };
#ifdef FIXED
enum { EXPECTED = START + IN - OUT };
#else
enum { EXPECTED = START - IN - OUT };
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = START;
static int has_deposit, has_withdrawal;

static void *audit(void *unused) {
    pthread_mutex_lock(&lock);
    if (has_deposit && has_withdrawal)
        assert(balance == EXPECTED);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *deposit(void *unused) {
    pthread_mutex_lock(&lock);
    balance += IN;
    has_deposit = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *withdraw(void *unused) {
    pthread_mutex_lock(&lock);
    balance -= OUT;
    has_withdrawal = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    const body bodies[] = {audit, deposit, withdraw};
    run_all(bodies, COUNT(bodies));
}
