// victim: the executable itself defines and exports malloc and its kin (a bump allocator), so a preloaded one is never called, and its own is recorded where it is; flags: -rdynamic -fno-builtin
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static _Alignas(4096) char room[32 << 20];
static size_t used;
static long served;

// As if they were in another file: what the compiler puts into its callers is no function any more.
#define FUNCTION __attribute__((noipa))

FUNCTION void *memalign(size_t align, size_t size) {
    // The size stands before the block, for realloc.
    size_t start = (used + 16 + align - 1) & ~(align - 1);
    if (size > sizeof room || start + size > sizeof room) {
        errno = ENOMEM;
        return NULL;
    }
    used = start + size;
    ((size_t *)(room + start))[-1] = size;
    served++;
    return room + start;
}
FUNCTION void *malloc(size_t size) { return memalign(16, size); }
FUNCTION void free(void *p) { (void)p; }
FUNCTION void *calloc(size_t n, size_t size) {
    // The room starts as zeros and is never used twice.
    return size && n > SIZE_MAX / size ? NULL : malloc(n * size);
}
FUNCTION void *realloc(void *p, size_t size) {
    void *q = malloc(size);
    if (p && q) {
        size_t old = ((size_t *)p)[-1];
        memcpy(q, p, old < size ? old : size);
    }
    return q;
}
FUNCTION void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
FUNCTION int posix_memalign(void **p, size_t align, size_t size) {
    *p = memalign(align, size);
    return *p ? 0 : ENOMEM;
}
size_t malloc_usable_size(void *p) { return p ? ((size_t *)p)[-1] : 0; }

__attribute__((noinline, noipa)) static void own(size_t n) {
    char *volatile p = malloc(n);
    p[0] = 1;
    free(p);
}

int main(void) {
    long before = served;
    for (int i = 0; i < 1000; i++) own(100);
    printf("served here: %ld\n", served - before);
    printf("expect site=own blocks=1000 bytes=100000 live=0\n");
    return 0;
}
