// victim: allocates an array with the size that it will have; flags:
#include <stdio.h>
#include <stdlib.h>

static int *volatile array;

__attribute__((noinline, noipa)) static void make(size_t n) {
    array = malloc(n * sizeof(int));
    for (size_t i = 0; i < n; i++) array[i] = (int)i + 1;
}

int main(void) {
    make(20000);
    printf("last %d\n", array[19999]);
    free(array);
    return 0;
}
