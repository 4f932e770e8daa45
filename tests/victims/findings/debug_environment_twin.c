// victim: the same program, left alone
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
