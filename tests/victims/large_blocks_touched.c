// victim: keeps blocks of 128 KiB to 64 MiB of which it touches the first quarter only; flags:
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *volatile keep[16];

__attribute__((noinline, noipa)) static void large(int i, size_t size) {
    keep[i] = malloc(size);
    if (!keep[i]) abort();
}

__attribute__((noinline, noipa)) static void large_touched_fully(int i, size_t size) {
    keep[i] = malloc(size);
    for (size_t k = 0; k < size; k += 4096) keep[i][k] = 1;
}

int main(void) {
    size_t bytes = 0, touched = 0;
    int n = 0;
    for (size_t size = 128 << 10; size <= 64 << 20; size *= 2, n++) {
        large(n, size);
        for (size_t k = 0; k < size / 4; k += 4096) keep[n][k] = 1;
        bytes += size;
        touched += size / 4;
    }
    large_touched_fully(n, 8 << 20);
    // Time for an observer that looks at the resident pages only now and then.
    usleep(300000);
    printf("expect site=large blocks=%d bytes=%zu live=%d live_bytes=%zu touched_bytes=%zu\n", n, bytes, n, bytes, touched);
    printf("expect site=large_touched_fully blocks=1 bytes=8388608 live=1 live_bytes=8388608 touched_bytes=8388608\n");
    return 0;
}
