// victim: hands out 24 MiB of memory that it maps itself (a bump allocator), beside a known leak; flags:
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM = 32 << 20, BLOCK = 1 << 10, BLOCKS = 24 << 10 };

static void *volatile sink;
static char *room;
static size_t used;

__attribute__((noinline, noipa)) static void *from_arena(size_t n) {
    used += n;
    return used > ROOM ? NULL : room + used - n;
}

__attribute__((noinline, noipa)) static void leak_here(void) { sink = malloc(40); }

int main(void) {
    room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) abort();
    // Small pages, so that what is resident is what was handed out.
    madvise(room, ROOM, MADV_NOHUGEPAGE);
    for (int i = 0; i < BLOCKS; i++) memset(from_arena(BLOCK), 1, BLOCK);
    for (int i = 0; i < 1000; i++) leak_here();
    printf("expect site=from_arena blocks=0 bytes=0 live=0\n");
    printf("expect site=leak_here blocks=1000 bytes=40000 live=1000 live_bytes=40000\n");
    return 0;
}
