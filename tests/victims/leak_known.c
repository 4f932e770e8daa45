// victim: leaks a known number of blocks and bytes from two places and frees those of a third; flags:
#include <stdio.h>
#include <stdlib.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;

SITE void leak_here(void) { sink = malloc(64); }
SITE void leak_half(int i) {
    sink = malloc(1000);
    if (i % 2) free(sink);
}
SITE void leak_nothing(void) {
    sink = malloc(50);
    free(sink);
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        leak_here();
        leak_half(i);
        leak_nothing();
    }
    sink = NULL;
    printf("expect site=leak_here blocks=100 bytes=6400 live=100 live_bytes=6400\n");
    printf("expect site=leak_half blocks=100 bytes=100000 live=50 live_bytes=50000\n");
    printf("expect site=leak_nothing blocks=100 bytes=5000 live=0\n");
    return 0;
}
