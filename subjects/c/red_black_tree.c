/* A left-leaning red-black tree. An insertion reads the root before it takes the lock; if
   another one has put a new root on top of it by then, that one's part of the tree is lost. */

#include "threads.h"

enum { THREADS = 2, EACH = 3, NODES = THREADS * EACH };

struct node {
    int key, is_red;
    struct node *left, *right;
};

static struct node nodes[NODES];
static struct node *root;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_red(const struct node *tree) {
    return tree != NULL && tree->is_red;
}

static struct node *rotate_left(struct node *tree) {
    struct node *up = tree->right;
    tree->right = up->left;
    up->left = tree;
    up->is_red = tree->is_red;
    tree->is_red = 1;
    return up;
}

static struct node *rotate_right(struct node *tree) {
    struct node *up = tree->left;
    tree->left = up->right;
    up->right = tree;
    up->is_red = tree->is_red;
    tree->is_red = 1;
    return up;
}

static struct node *put(struct node *tree, struct node *new) {
    if (tree == NULL)
        return new;
    if (new->key < tree->key)
        tree->left = put(tree->left, new);
    else
        tree->right = put(tree->right, new);
    if (is_red(tree->right) && !is_red(tree->left))
        tree = rotate_left(tree);
    if (is_red(tree->left) && is_red(tree->left->left))
        tree = rotate_right(tree);
    if (is_red(tree->left) && is_red(tree->right)) {
        tree->is_red = 1;
        tree->left->is_red = tree->right->is_red = 0;
    }
    return tree;
}

static void insert(struct node *new) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    struct node *top = root;
#else
    struct node *top = root;
    pthread_mutex_lock(&lock);
#endif
    top = put(top, new);
    top->is_red = 0;
    root = top;
    pthread_mutex_unlock(&lock);
}

static void *work(void *number) {
    int first = (int)(size_t)number;
    for (int i = 0; i < EACH; i++) {
        struct node *new = &nodes[first * EACH + i];
        new->key = first + THREADS * i;
        new->is_red = 1;
        insert(new);
    }
    return NULL;
}

/* Nodes of the tree, if it is in order and every path has the same number of black nodes. */
static int count(const struct node *tree, int low, int high, int *black) {
    if (tree == NULL) {
        *black = 0;
        return 0;
    }
    int left, right;
    assert(low < tree->key && tree->key < high);
    int nodes_below = count(tree->left, low, tree->key, &left) +
                      count(tree->right, tree->key, high, &right);
    assert(left == right);
    *black = left + !tree->is_red;
    return nodes_below + 1;
}

int main(void) {
    const body bodies[THREADS] = {work, work};
    int black;
    run_all(bodies, COUNT(bodies));
    assert(count(root, -1, NODES, &black) == NODES);
}
