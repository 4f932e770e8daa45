// victim: allocates each node of a list by itself; flags:
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    long value;
};

__attribute__((noinline, noipa)) static struct node *prepend(struct node *list, long value) {
    struct node *node = malloc(sizeof *node); // here: small-boxes
    node->next = list;
    node->value = value;
    return node;
}

int main(void) {
    struct node *list = NULL;
    for (long i = 0; i < 30000; i++) list = prepend(list, i);
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
