// victim: grows an array by one element at a time; flags:
#include <stdio.h>
#include <stdlib.h>

static int *volatile array;

__attribute__((noinline, noipa)) static void push(size_t n) {
    array = realloc(array, n * sizeof(int)); // here: growth
    array[n - 1] = (int)n;
}

int main(void) {
    for (size_t n = 1; n <= 20000; n++) push(n);
    printf("last %d\n", array[19999]);
    free(array);
    return 0;
}
