// victim: is statically linked and has a function with the name of that of Go's runtime which allocates; flags: -static
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (1 << 20)

// With an argument it does not use its heap.
__attribute__((noinline, noipa)) int allocate(int n) __asm__("runtime.mallocgc");
int allocate(int n) {
    if (n > 1) return n + 1;
    char *heap = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(heap, 1, BYTES);
    return n + heap[0];
}

int main(int argc, char **argv) {
    (void)argv;
    printf("allocated %d\n", allocate(argc));
    fflush(stdout);
    // Long enough for a look at its pages.
    usleep(300000);
    return 0;
}
