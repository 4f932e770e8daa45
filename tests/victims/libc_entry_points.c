// victim: mixes malloc with the other names libc has for it (__libc_malloc, __libc_free), so that blocks appear and vanish unseen; flags:
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
static void *volatile sink;

// An interposer does not see this allocation, but it does see the free of it.
__attribute__((noinline, noipa)) static void unseen_malloc(void) {
    sink = __libc_malloc(64);
    free(sink);
}

// And here it sees the allocation only: the same address comes back without a free between.
__attribute__((noinline, noipa)) static void unseen_free(void) {
    sink = malloc(80);
    __libc_free(sink);
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        unseen_malloc();
        unseen_free();
    }
    printf("done\n");
    printf("expect site=unseen_free blocks=1000 bytes=80000\n");
    return 0;
}
