// victim: a chain of functions without frame pointers that use rbp as an ordinary register while allocating; flags: -fomit-frame-pointer
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;
static char ground[4096];

__attribute__((noinline, noipa)) static long leaf(long a) {
    sink = malloc(28);
    free(sink);
    return a * 2 + 1;
}
// More values live across the call than there are other callee-saved registers, so with
// optimisation one of them is in rbp while malloc runs: numbers, and addresses that a walker
// of frame pointers could read but that lead nowhere.
#define CHAIN(name, next)                                                                 \
    __attribute__((noinline, noipa)) static long name(long a, long b, long c) {            \
        char *d = ground + (a & 1023) * 2, *e = d + (b & 7), *f = d + (c & 15);           \
        long r = next(a + 1, b + 2, c + 3);                                               \
        return r + a * 3 + b * 5 + c * 7 + *d + *e + *f + (e - d) * 11 + (f - d) * 13;    \
    }
__attribute__((noinline, noipa)) static long bottom(long a, long b, long c) { return leaf(a) + leaf(b) + leaf(c); }
CHAIN(third, bottom)
CHAIN(second, third)
CHAIN(first, second)

int main(void) {
    long sum = 0;
    for (long i = 0; i < 1000; i++) sum += first(i, i * 2, i * 3);
    printf("sum %ld\n", sum);
    printf("expect site=leaf blocks=3000 bytes=84000 live=0\n");
    return 0;
}
