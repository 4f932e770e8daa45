// victim: checks the alignment and the errors of the aligned allocation functions; flags:
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline, noipa)) static
static void *volatile sink;

SITE int with_posix_memalign(size_t align, size_t size) {
    void *p = NULL;
    int error = posix_memalign(&p, align, size);
    sink = p;
    return error;
}
SITE void with_aligned_alloc(size_t align, size_t size) { sink = aligned_alloc(align, size); }
SITE void with_memalign(size_t align, size_t size) { sink = memalign(align, size); }

static int aligned(size_t align, size_t size) {
    void *p = sink;
    if (!p) return 0;
    memset(p, 1, size);
    int good = (uintptr_t)p % align == 0;
    free(p);
    return good;
}

int main(void) {
    int good = 0;
    for (size_t align = 16; align <= 65536; align *= 2) {
        with_posix_memalign(align, 100);
        good += aligned(align, 100);
        with_aligned_alloc(align, align);
        good += aligned(align, align);
        with_memalign(align, 300);
        good += aligned(align, 300);
    }
    printf("aligned %d of 39\n", good);
    // Three is no power of two, and eight is the smallest alignment that is allowed.
    printf("align 3: %s\n", with_posix_memalign(3, 10) == EINVAL ? "EINVAL" : "accepted");
    printf("align 4: %s\n", with_posix_memalign(4, 10) == EINVAL ? "EINVAL" : "accepted");
    printf("huge: %s\n", with_posix_memalign(64, SIZE_MAX / 2) == ENOMEM ? "ENOMEM" : "accepted");
    printf("expect site=with_posix_memalign blocks=13 bytes=1300 live=0\n");
    printf("expect site=with_aligned_alloc blocks=13 bytes=131056 live=0\n");
    printf("expect site=with_memalign blocks=13 bytes=3900 live=0\n");
    return 0;
}
