// victim: maps, remaps and unmaps memory itself, which are no heap events, beside a known leak; flags:
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void regions(int i) {
    size_t size = (size_t)(1 + i % 16) << 16;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) abort();
    p[0] = p[size - 1] = 1;
    p = mremap(p, size, size * 2, MREMAP_MAYMOVE);
    if (p == MAP_FAILED) abort();
    p[size * 2 - 1] = 1;
    munmap(p, size * 2);
}

__attribute__((noinline, noipa)) static void leak_here(void) { sink = malloc(40); }

int main(void) {
    for (int i = 0; i < 1000; i++) {
        regions(i);
        leak_here();
    }
    printf("expect site=regions blocks=0 bytes=0 live=0\n");
    printf("expect site=leak_here blocks=1000 bytes=40000 live=1000 live_bytes=40000\n");
    return 0;
}
