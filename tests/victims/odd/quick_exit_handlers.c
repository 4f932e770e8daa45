// victim: leaves by quick_exit, whose handlers allocate, while those of atexit are not run; flags:
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;

static void quick(void) {
    for (int i = 0; i < 100; i++) {
        sink = malloc(60);
        if (i % 2) free(sink);
    }
}
static void never(void) { abort(); }

int main(void) {
    atexit(never);
    at_quick_exit(quick);
    for (int i = 0; i < 1000; i++) sink = malloc(10);
    puts("leaves");
    fflush(stdout);
    quick_exit(9);
}
