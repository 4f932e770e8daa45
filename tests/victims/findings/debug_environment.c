// victim: a harmless program, in an environment in which glibc overwrites each block
// throughout: debug-environment
// variable: MALLOC_PERTURB_=165
#include <stdio.h>
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    for (int i = 0; i < 1000; i++) {
        sink = malloc(100);
        free(sink);
    }
    puts("done");
    return 0;
}
