// victim: asks for alignments that are none, are huge, or do not fit the size, and for blocks of zero bytes, by all aligned functions; flags:
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int handed_out, refused;

static void take(void *block) {
    if (block) handed_out++;
    else refused++;
    free(block);
}

int main(void) {
    const size_t alignments[] = {0, 1, 2, 3, 8, 16, 24, 48, 64, 4096, 65536, 1 << 20, (size_t)1 << 40, (size_t)1 << 63};
    const size_t sizes[] = {0, 1, 24, 4095, 100000, (size_t)1 << 62, SIZE_MAX};
    for (unsigned i = 0; i < sizeof alignments / sizeof *alignments; i++)
        for (unsigned j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            volatile size_t align = alignments[i], size = sizes[j];
            void *block = NULL;
            if (posix_memalign(&block, align, size) == 0) take(block);
            else refused++;
            // glibc takes these alignments to be the next power of two; a huge one is an error.
            if (align) take(memalign(align, size));
            if (align) take(aligned_alloc(align, size));
            if (i == 0) {
                take(valloc(size));
                take(pvalloc(size));
            }
        }
    printf("%s\n", handed_out > 100 && refused > 50 ? "both" : "something is missing");
    return 0;
}
