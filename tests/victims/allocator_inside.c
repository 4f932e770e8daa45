// victim: has an allocator with the names and the messages of jemalloc inside, which hands out 12 MiB, beside a known leak; flags:
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM = 16 << 20, BLOCK = 1 << 10, BLOCKS = 12 << 10 };

static void *volatile sink;
static char *room;
static size_t used;

// Not static: a linker that strips nothing leaves the name in the table of symbols.
__attribute__((noinline, noipa, visibility("hidden"))) void *je_malloc(size_t n) {
    if (room == NULL) {
        room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) {
            fputs("<jemalloc>: Error in mmap()\n", stderr);
            abort();
        }
        madvise(room, ROOM, MADV_NOHUGEPAGE);
    }
    used += n;
    return used > ROOM ? NULL : room + used - n;
}

__attribute__((noinline, noipa)) static void leak_here(void) { sink = malloc(40); }

int main(void) {
    for (int i = 0; i < BLOCKS; i++) memset(je_malloc(BLOCK), 1, BLOCK);
    for (int i = 0; i < 1000; i++) leak_here();
    printf("expect site=je_malloc blocks=0 bytes=0 live=0\n");
    printf("expect site=leak_here blocks=1000 bytes=40000 live=1000 live_bytes=40000\n");
    return 0;
}
