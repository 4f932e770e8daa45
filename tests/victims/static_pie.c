// victim: a static position independent executable, into which nothing can be preloaded; flags: -static-pie -fPIE
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void leak_here(void) { sink = malloc(64); }

int main(void) {
    for (int i = 0; i < 100; i++) leak_here();
    // A recorder has to say that it cannot see these, not report an empty heap.
    printf("expect recordable=no site=leak_here blocks=0\n");
    return 0;
}
