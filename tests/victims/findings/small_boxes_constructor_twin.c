// victim: the same with nodes from one block; flags:
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    long value;
};

static struct node *pool;

__attribute__((noinline, noipa)) static struct node *node_of(struct node *list, long value) {
    struct node *node = pool++;
    node->next = list;
    node->value = value;
    return node;
}

int main(void) {
    struct node *list = NULL;
    struct node *all = pool = malloc(10000 * sizeof *pool);
    for (long i = 0; i < 10000; i++) list = node_of(list, i);
    long sum = 0;
    for (; list; list = list->next) sum += list->value;
    printf("sum %ld\n", sum);
    free(all);
    return 0;
}
