// victim: a signal handler on an alternate stack allocates, raised synchronously from several depths; flags:
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static char room[65536];
static void *volatile sink;

__attribute__((noinline, noipa)) static void in_handler(void) {
    sink = malloc(96);
    free(sink);
}
static void handler(int signal) {
    (void)signal;
    in_handler();
}
__attribute__((noinline, noipa)) static void outside(int depth) {
    sink = malloc(16);
    free(sink);
    if (depth) outside(depth - 1);
    else raise(SIGUSR1);
    sink = malloc(16);
    free(sink);
}

int main(void) {
    stack_t alternate = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    long out = 0;
    for (int i = 0; i < 1000; i++) {
        outside(i % 20);
        out += 2 * (i % 20 + 1);
    }
    printf("expect site=in_handler blocks=1000 bytes=96000 live=0\n");
    printf("expect site=outside blocks=%ld bytes=%ld\n", out, out * 16);
    return 0;
}
