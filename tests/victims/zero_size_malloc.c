// victim: allocates blocks of zero bytes, which have distinct addresses and must be freed; flags:
#include <stdio.h>
#include <stdlib.h>

static void *volatile a, *volatile b, *volatile c;

__attribute__((noinline, noipa)) static void zero_blocks(void) {
    a = malloc(0);
    b = calloc(0, 8);
    c = realloc(NULL, 0);
}

int main(void) {
    zero_blocks();
    printf("distinct: %d\n", a && b && c && a != b && b != c && a != c);
    free(a);
    free(b);
    // The third stays, so a leak of zero bytes must show as one block.
    printf("expect site=zero_blocks blocks=3 bytes=0 live=1 live_bytes=0\n");
    return 0;
}
