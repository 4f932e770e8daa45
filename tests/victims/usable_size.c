// victim: writes every byte that malloc_usable_size grants; flags:
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline, noipa)) static char *take(size_t size) {
    // Written through a volatile pointer so that the call stays a call.
    char *volatile p = malloc(size);
    return p;
}

int main(void) {
    size_t bytes = 0, blocks = 0;
    int bad = 0;
    for (size_t size = 1; size < 300000; size = size * 3 / 2 + 1) {
        char *p = take(size);
        // A recorder that put a header before the block would be overwritten here, or would
        // answer with a wrong size.
        size_t usable = malloc_usable_size(p);
        if (usable < size || usable > size + 8192) bad++;
        memset(p, 0x5a, usable);
        free(p);
        bytes += size;
        blocks++;
    }
    printf("usable_size(NULL) = %zu, bad answers %d\n", malloc_usable_size(NULL), bad);
    printf("expect site=take blocks=%zu bytes=%zu live=0\n", blocks, bytes);
    return 0;
}
