// victim: leaves by _exit in the middle, without any handler or destructor being run; flags:
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void lost(void) { sink = malloc(73); }
static void never(void) { puts("an atexit handler ran"); }

int main(void) {
    atexit(never);
    for (int i = 0; i < 777; i++) lost();
    printf("expect site=lost blocks=777 bytes=56721 live=777 live_bytes=56721\n");
    fflush(stdout);
    _exit(11);
}
