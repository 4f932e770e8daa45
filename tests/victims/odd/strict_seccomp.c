// victim: enters seccomp's strict mode (by prctl, or with the argument "syscall" by seccomp(2)) and goes on allocating, more than any buffer holds; flags:
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *volatile sink;
static void *keep[200];

__attribute__((noinline, noipa)) static void in_strict_mode(size_t n) {
    sink = malloc(n);
    free(sink);
}
// Stacks of many shapes, which are new to whoever remembers them.
__attribute__((noinline, noipa)) static void tree(int depth, unsigned shape) {
    if (depth == 0) in_strict_mode(20);
    else if (shape & 1) tree(depth - 1, shape >> 1);
    else tree(depth - 1, shape >> 1);
    sink = NULL;
}

int main(int argc, char **argv) {
    long rounds = argc > 2 ? atol(argv[2]) : 1000000;
    // From the break alone, which stays: the allocator itself may not call the kernel either.
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    void *volatile room = malloc(4 << 20);
    void *volatile stop = malloc(1);
    free(room);
    int by_syscall = argc > 1 && !strcmp(argv[1], "syscall");
    long error = by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL)
                            : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (error) _exit(1);
    for (long i = 0; i < rounds; i++) in_strict_mode(i % 500);
    for (unsigned shape = 0; shape < 4096; shape++) tree(12, shape);
    // Large enough to be measured when they are freed, if that were possible.
    for (int i = 0; i < 20; i++) in_strict_mode(1 << 20);
    for (int i = 0; i < 200; i++) keep[i] = malloc(100);
    for (int i = 0; i < 200; i++) free(keep[i]);
    free(stop);
    static const char text[] = "went on in strict mode\n";
    if (write(1, text, sizeof text - 1) < 0) syscall(SYS_exit, 2);
    syscall(SYS_exit, 23);
}
