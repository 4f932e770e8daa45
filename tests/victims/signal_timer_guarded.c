// victim: a timer signal whose handler allocates strikes at arbitrary instructions, but is unmasked only where no allocator call is running; flags:
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static void *volatile sink;
static volatile unsigned spin;

__attribute__((noinline, noipa)) static void in_handler(void) {
    sink = malloc(120);
    free(sink);
}
static void handler(int signal) {
    (void)signal;
    in_handler();
    ticks++;
}
__attribute__((noinline, noipa)) static void outside(void) {
    sink = malloc(16);
    free(sink);
}
// The interrupted frames: one with a prologue and one leaf that uses the red zone.
__attribute__((noinline, noipa)) static unsigned leaf(unsigned x) {
    volatile unsigned a = x, b = x * 3;
    return a ^ b;
}
__attribute__((noinline, noipa)) static void safe_region(int until) {
    while (ticks < until) spin += leaf(spin);
}

int main(void) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    signal(SIGALRM, handler);
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 10; k++) outside();
        // One shot per round, so that the number of ticks is exact.
        struct itimerval timer = {.it_value = {.tv_usec = 500}};
        setitimer(ITIMER_REAL, &timer, NULL);
        sigprocmask(SIG_UNBLOCK, &alarm, NULL);
        safe_region(i + 1);
        sigprocmask(SIG_BLOCK, &alarm, NULL);
    }
    printf("ticks %d\n", (int)ticks);
    printf("expect site=in_handler blocks=200 bytes=24000 live=0\n");
    printf("expect site=outside blocks=2000 bytes=32000 live=0\n");
    return 0;
}
