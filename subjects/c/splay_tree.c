/* A splay tree under a lock for readers and writers. Looking something up rotates the tree,
   which makes it a write, but only the readers' lock is taken. */

#include "threads.h"

enum { NODES = 5 };

struct node {
    int key;
    struct node *left, *right;
};

static struct node nodes[NODES];
static struct node *root;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

/* Brings the node with this key one level up for each level above it. */
static struct node *lift(struct node *tree, int key, int depth) {
    assert(depth <= NODES);
    if (tree == NULL || tree->key == key)
        return tree;
    if (key < tree->key) {
        struct node *child = lift(tree->left, key, depth + 1);
        if (child == NULL)
            return tree;
        tree->left = child->right;
        child->right = tree;
        return child;
    }
    struct node *child = lift(tree->right, key, depth + 1);
    if (child == NULL)
        return tree;
    tree->right = child->left;
    child->left = tree;
    return child;
}

static int contains(int key) {
#ifdef FIXED
    pthread_rwlock_wrlock(&lock);
#else
    pthread_rwlock_rdlock(&lock);
#endif
    root = lift(root, key, 0);
    int found = root->key == key;
    pthread_rwlock_unlock(&lock);
    return found;
}

static int count(const struct node *tree, int low, int high, int depth) {
    if (tree == NULL)
        return 0;
    assert(depth < NODES && low < tree->key && tree->key < high);
    return 1 + count(tree->left, low, tree->key, depth + 1) +
           count(tree->right, tree->key, high, depth + 1);
}

static void *look(void *number) {
    assert(contains((int)(size_t)number * 2));
    return NULL;
}

int main(void) {
    for (int i = 0; i < NODES; i++) {
        nodes[i].key = i;
        nodes[i].left = root;
        root = &nodes[i];
    }
    const body bodies[] = {look, look};
    run_all(bodies, COUNT(bodies));
    assert(count(root, -1, NODES, 0) == NODES);
}
