// victim: a constructor with several callers makes each node of a list by itself: it is no wrapper; flags:
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    long value;
};

__attribute__((noinline, noipa)) static struct node *node_of(struct node *list, long value) {
    struct node *node = malloc(sizeof *node); // here: small-boxes
    node->next = list;
    node->value = value;
    return node;
}

__attribute__((noinline, noipa)) static struct node *one(struct node *list, long i) { return node_of(list, i); }

__attribute__((noinline, noipa)) static struct node *two(struct node *list, long i) {
    list = node_of(list, i);
    return node_of(list, -i);
}

__attribute__((noinline, noipa)) static struct node *even(struct node *list, long i) {
    return i % 2 ? list : node_of(list, i / 2);
}

int main(void) {
    struct node *list = NULL;
    for (long i = 0; i < 10000; i++) list = even(two(one(list, i), i), i);
    long sum = 0;
    while (list) {
        struct node *next = list->next;
        sum += list->value;
        free(list);
        list = next;
    }
    printf("sum %ld\n", sum);
    return 0;
}
