// victim: takes the nodes of a list from one block; flags:
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    long value;
};

static struct node *pool;

__attribute__((noinline, noipa)) static struct node *prepend(struct node *list, long value) {
    struct node *node = &pool[value];
    node->next = list;
    node->value = value;
    return node;
}

int main(void) {
    struct node *list = NULL;
    pool = malloc(30000 * sizeof *pool);
    for (long i = 0; i < 30000; i++) list = prepend(list, i);
    long sum = 0;
    for (; list; list = list->next) sum += list->value;
    printf("sum %ld\n", sum);
    free(pool);
    return 0;
}
