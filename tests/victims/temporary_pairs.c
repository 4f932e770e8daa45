// victim: allocates and frees at once, 100000 times, with nothing between; flags:
#include <stdio.h>
#include <stdlib.h>

static char *volatile sink;

__attribute__((noinline, noipa)) static void temporary(size_t size) {
    sink = malloc(size);
    sink[0] = 1;
    free(sink);
}

int main(void) {
    size_t bytes = 0;
    for (int i = 0; i < 100000; i++) {
        size_t size = 16 + i % 500;
        temporary(size);
        bytes += size;
    }
    printf("expect site=temporary blocks=100000 bytes=%zu live=0 temporary=100000\n", bytes);
    return 0;
}
