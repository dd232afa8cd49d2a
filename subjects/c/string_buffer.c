/* Appending one buffer to another: its length is asked for, then that many characters are
   copied, and each step takes the buffer's lock for itself. In between it may get shorter. */

#include "threads.h"

#include <string.h>

enum { SIZE = 32 };

struct buffer {
    pthread_mutex_t lock;
    int length;
    char text[SIZE];
};

static struct buffer source = {PTHREAD_MUTEX_INITIALIZER, 5, "abcde"};
static struct buffer target = {PTHREAD_MUTEX_INITIALIZER, 0, ""};

static void copy(struct buffer *from, int length, char *to) {
    assert(length <= from->length);
    memcpy(to, from->text, (size_t)length);
}

static void append(struct buffer *to, struct buffer *from) {
    pthread_mutex_lock(&to->lock);
    pthread_mutex_lock(&from->lock);
    int length = from->length;
#ifndef FIXED
    pthread_mutex_unlock(&from->lock);
    assert(to->length + length <= SIZE);
    pthread_mutex_lock(&from->lock);
#endif
    copy(from, length, to->text + to->length);
    to->length += length;
    pthread_mutex_unlock(&from->lock);
    pthread_mutex_unlock(&to->lock);
}

static void *erase(void *unused) {
    pthread_mutex_lock(&source.lock);
    memset(source.text, 0, sizeof source.text);
    source.length = 0;
    pthread_mutex_unlock(&source.lock);
    return unused;
}

int main(void) {
    pthread_t eraser;
    pthread_create(&eraser, NULL, erase, NULL);
    append(&target, &source);
    pthread_join(eraser, NULL);
    assert(target.length == 0 || memcmp(target.text, "abcde", 5) == 0);
}
