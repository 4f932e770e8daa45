// victim: takes realloc through every case (NULL, grow, shrink, same size, moved, size zero); flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline, noipa)) static
static char *volatile block;
static void *volatile barrier;

SITE void from_null(void) { block = realloc(NULL, 40); }
SITE void same_size(void) { block = realloc(block, 40); }
// The chunk behind 40 bytes has room for 48, so this one stays in place without a neighbour.
SITE void slack(void) { block = realloc(block, 48); }
SITE void put_barrier(void) { barrier = malloc(48); }
// The barrier stands behind the block, so it has to move.
SITE void moved(void) { block = realloc(block, 4000); }
SITE void shrink(void) { block = realloc(block, 8); }
SITE void to_mmap(void) { block = realloc(block, 1 << 20); }
SITE void grow_mmap(void) { block = realloc(block, 8 << 20); }
SITE void from_mmap(void) { block = realloc(block, 64); }
SITE void to_zero(void) { block = realloc(block, 0); }

int main(void) {
    from_null();
    strcpy(block, "kept");
    put_barrier();
    same_size(); slack(); moved(); shrink(); to_mmap(); grow_mmap(); from_mmap();
    printf("content %s\n", block);
    // glibc frees the block and returns NULL.
    to_zero();
    printf("after size zero: %s\n", block ? "a block" : "NULL");
    free(barrier);
    printf("expect site=from_null blocks=1 bytes=40 live=0\n");
    printf("expect site=same_size blocks=1 bytes=40 live=0\n");
    printf("expect site=slack blocks=1 bytes=48 live=0\n");
    printf("expect site=put_barrier blocks=1 bytes=48 live=0\n");
    printf("expect site=moved blocks=1 bytes=4000 live=0\n");
    printf("expect site=shrink blocks=1 bytes=8 live=0\n");
    printf("expect site=to_mmap blocks=1 bytes=1048576 live=0\n");
    printf("expect site=grow_mmap blocks=1 bytes=8388608 live=0\n");
    printf("expect site=from_mmap blocks=1 bytes=64 live=0\n");
    printf("expect site=to_zero blocks=0 bytes=0 live=0\n");
    return 0;
}
