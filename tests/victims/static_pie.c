// victim: a static position independent executable, into which nothing can be preloaded: the recorder is written into it; flags: -static-pie -fPIE
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void leak_here(void) { sink = malloc(64); }

int main(void) {
    for (int i = 0; i < 100; i++) leak_here();
    printf("expect site=leak_here blocks=100 bytes=6400 live=100\n");
    return 0;
}
