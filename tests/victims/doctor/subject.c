// victim: allocates a little, says that it is ready, and waits to be looked at
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

int main(void) {
    for (int i = 1; i < 100; i++) {
        sink = malloc(i * 8);
        free(sink);
    }
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
