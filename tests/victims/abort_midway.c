// victim: calls abort after a known number of allocations; flags:
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline, noipa)) static void before_death(void) { sink = malloc(37); }

int main(void) {
    // No core file is wanted.
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    printf("expect site=before_death blocks=12345 bytes=456765 live=12345 live_bytes=456765\n");
    fflush(stdout);
    for (int i = 0; i < 12345; i++) before_death();
    abort();
    return 0;
}
