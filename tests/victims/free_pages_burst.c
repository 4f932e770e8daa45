// victim: a burst of blocks of which all but the last are freed, and then a while of little to do; with the argument "trim" the free pages are returned to the system; flags:
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 60000
static char *blocks[N];

__attribute__((noinline, noipa)) static char *burst(void) { return memset(malloc(1000), 1, 1000); }

int main(int argc, char **argv) {
    for (int i = 0; i < N; i++) blocks[i] = burst();
    for (int i = 0; i < N - 1; i++) free(blocks[i]);
    if (argc > 1 && strcmp(argv[1], "trim") == 0) malloc_trim(0);
    // The last block stays at the top of the heap, so that nothing below it is returned to the system by itself.
    for (int i = 0; i < 40; i++) {
        free(burst());
        usleep(10000);
    }
    printf("expect site=burst blocks=%d bytes=%d live=1 live_bytes=1000\n", N + 40, (N + 40) * 1000);
    return 0;
}
