// victim: frees NULL many times, which is no event, among real pairs; flags:
#include <stdio.h>
#include <stdlib.h>

static void *volatile nothing;
static void *volatile sink;

__attribute__((noinline, noipa)) static void pair(void) {
    sink = malloc(32);
    free(sink);
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        free(nothing);
        pair();
        free(nothing);
    }
    printf("expect site=pair blocks=1000 bytes=32000 live=0\n");
    return 0;
}
