// victim: sets allocator options, trims the heap, asks the allocator about itself, and takes chains of realloc through all sizes; flags:
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    for (int round = 0; round < 20; round++) {
        mallopt(M_MMAP_THRESHOLD, 4096 << (round % 6));
        mallopt(M_TRIM_THRESHOLD, round % 2 ? 0 : 1 << 20);
        mallopt(M_PERTURB, round % 3);
        void *chain = NULL;
        for (size_t size = 1; size < 8 << 20; size = size * 3 / 2 + 1) chain = realloc(chain, size);
        for (size_t size = 8 << 20; size > 1; size = size * 2 / 3) chain = realloc(chain, size);
        malloc_trim(0);
        struct mallinfo2 info = mallinfo2();
        if (info.arena == 0) return 1;
        free(chain);
        malloc_trim(1 << 16);
        if (round == 10) {
            FILE *null = fopen("/dev/null", "w");
            if (null && malloc_info(0, null)) return 1;
            if (null) fclose(null);
        }
    }
    puts("trimmed");
    return 0;
}
