// victim: small and large blocks in turns, of which the large ones are freed, so that every page keeps one small block; flags: -D_GNU_SOURCE -ldl
#include "allocator_says.h"
#include <stdlib.h>
#include <string.h>

#define N 10000
#define SITE __attribute__((noinline, noipa)) static
static char *small[N], *large[N];

SITE char *keep(void) { return memset(malloc(64), 1, 64); }
SITE char *drop(void) { return memset(malloc(4096), 1, 4096); }

int main(void) {
    for (int i = 0; i < N; i++) {
        small[i] = keep();
        large[i] = drop();
    }
    for (int i = 0; i < N; i++) free(large[i]);
    allocator_says();
    printf("expect site=keep blocks=%d bytes=%d live=%d live_bytes=%d\n", N, N * 64, N, N * 64);
    printf("expect site=drop blocks=%d bytes=%d live=0\n", N, N * 4096);
    return 0;
}
