// victim: allocates below functions that realign their stack (force_align_arg_pointer, locals aligned to 64 and to 4096 bytes); flags:
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;
static int bad;

__attribute__((noinline, noipa)) static void leaf(void) {
    sink = malloc(36);
    free(sink);
}
// The old stack pointer is kept in the frame and the CFA becomes a memory expression.
__attribute__((noinline, noipa)) static int aligned_64(int n) {
    _Alignas(64) volatile char room[64];
    room[n & 63] = (char)n;
    if ((uintptr_t)room % 64) bad++;
    leaf();
    return room[n & 63];
}
// With arguments on the stack the compiler needs the dynamic realign argument pointer.
__attribute__((noinline, noipa)) static int aligned_and_many(int a, int b, int c, int d, int e, int f, int g, int h, int n) {
    _Alignas(4096) volatile char room[4096];
    room[0] = (char)n;
    if ((uintptr_t)room % 4096) bad++;
    leaf();
    int below = n ? aligned_and_many(b, c, d, e, f, g, h, a, n - 1) : 0;
    return room[0] + below + a + 2 * g + 3 * h;
}
__attribute__((noinline, noipa, force_align_arg_pointer)) static int forced(int n) {
    leaf();
    int x = aligned_64(n);
    leaf();
    return x;
}
// A realigned frame that also moves its stack pointer.
__attribute__((noinline, noipa)) static int aligned_alloca(int n) {
    _Alignas(128) volatile char room[128];
    volatile char *more = __builtin_alloca(n + 1);
    more[n] = 5;
    room[1] = 6;
    leaf();
    return more[n] + room[1];
}

int main(void) {
    long sum = 0;
    for (int i = 0; i < 500; i++) {
        sum += forced(i % 60) + aligned_and_many(1, 2, 3, 4, 5, 6, 7, 8, i % 6) + aligned_alloca(i);
    }
    long many = 0;
    for (int i = 0; i < 500; i++) many += i % 6 + 1;
    printf("sum %ld, badly aligned %d\n", sum, bad);
    printf("expect site=leaf blocks=%ld bytes=%ld live=0\n", 2000 + many, 36 * (2000 + many));
    return 0;
}
