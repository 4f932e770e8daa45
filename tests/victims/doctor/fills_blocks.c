// plugin: an allocator to preload that fills each new block, and does not say so
#include <stddef.h>
#include <string.h>

extern void *__libc_malloc(size_t size);

void *malloc(size_t size) {
    void *block = __libc_malloc(size);
    if (block) memset(block, 0x77, size);
    return block;
}
