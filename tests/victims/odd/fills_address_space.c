// victim: allocates blocks of 64 KiB until there are no more, below a limit of the address space in MiB (its first argument; "outer 256" keeps the one it was started with), and prints how many; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void **newest;

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "outer")) {
        rlim_t bytes = strtoul(argv[1], NULL, 10) << 20;
        struct rlimit limit = {bytes, bytes};
        if (setrlimit(RLIMIT_AS, &limit)) return 1;
    }
    long blocks = 0;
    void **block;
    while ((block = malloc(64 << 10))) {
        *block = newest;
        newest = block;
        blocks++;
    }
    char text[32];
    int len = snprintf(text, sizeof text, "%ld blocks\n", blocks);
    if (write(1, text, len) != len) return 1;
    while (newest) {
        void **next = *newest;
        free(newest);
        newest = next;
    }
    return 0;
}
