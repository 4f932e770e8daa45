// victim: jumps out of deep frames by longjmp and allocates from the shallow frame afterwards; flags:
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;
static void *volatile sink;

#define SITE __attribute__((noinline, noipa)) static

SITE void deep_alloc(void) {
    sink = malloc(24);
    free(sink);
}
SITE void shallow_alloc(void) {
    sink = malloc(40);
    free(sink);
}
SITE int deep(int depth) {
    deep_alloc();
    if (depth == 0) longjmp(back, 1);
    if (depth < 0) return 0;
    int x = deep(depth - 1);
    deep_alloc();
    return x + 1;
}
// The same depth with another frame size: its slots lie across those left by the jump.
SITE void other(int depth) {
    volatile char room[40];
    room[0] = 1;
    shallow_alloc();
    if (depth) other(depth - room[0]);
    room[0] = 2;
}

int main(void) {
    for (volatile int i = 0; i < 2000; i++) {
        if (setjmp(back) == 0) deep(30);
        shallow_alloc();
        other(i % 7);
    }
    long other_blocks = 0;
    for (int i = 0; i < 2000; i++) other_blocks += i % 7 + 1;
    printf("expect site=deep_alloc blocks=62000 bytes=1488000 live=0\n");
    printf("expect site=shallow_alloc blocks=%ld bytes=%ld live=0\n", 2000 + other_blocks, 40 * (2000 + other_blocks));
    return 0;
}
