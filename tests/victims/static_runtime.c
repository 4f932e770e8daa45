// victim: is statically linked and has a function with the name of that of Go's runtime which allocates; flags: -static
#include <stdio.h>

__attribute__((noinline, noipa)) int allocate(int n) __asm__("runtime.mallocgc");
int allocate(int n) { return n + 1; }

int main(int argc, char **argv) {
    (void)argv;
    printf("allocated %d\n", allocate(argc));
    return 0;
}
