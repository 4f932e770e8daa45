// victim: calls mallopt, mallinfo2, malloc_trim, malloc_info and malloc_stats between allocations; flags:
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void pair(size_t size) {
    sink = malloc(size);
    free(sink);
}

int main(void) {
    FILE *null = fopen("/dev/null", "w");
    // With M_PERTURB glibc fills freed blocks, so a recorder that reads them finds rubbish.
    mallopt(M_PERTURB, 0xa5);
    mallopt(M_MMAP_THRESHOLD, 65536);
    for (int i = 0; i < 100; i++) {
        pair(100);
        pair(100000);
        if (i % 10 == 0) {
            struct mallinfo2 info = mallinfo2();
            if (info.arena == 0) abort();
            malloc_trim(0);
            malloc_info(0, null);
        }
    }
    fclose(null);
    malloc_stats();
    printf("expect site=pair blocks=200 bytes=10010000 live=0\n");
    return 0;
}
