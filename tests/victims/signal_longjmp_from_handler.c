// victim: a handler of a real segmentation fault allocates and leaves by siglongjmp, many times; flags:
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static sigjmp_buf back;
static char *forbidden;
static void *volatile sink;

__attribute__((noinline, noipa)) static void in_handler(void) {
    sink = malloc(64);
    free(sink);
}
static void handler(int signal) {
    (void)signal;
    in_handler();
    siglongjmp(back, 1);
}
__attribute__((noinline, noipa)) static void touch(int depth) {
    if (depth) touch(depth - 1);
    else *(volatile char *)forbidden = 1;
    __asm__ volatile("");
}
__attribute__((noinline, noipa)) static void after(void) {
    sink = malloc(32);
    free(sink);
}

int main(void) {
    forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGSEGV, &action, NULL);
    volatile int faults = 0;
    for (volatile int i = 0; i < 500; i++) {
        if (sigsetjmp(back, 1) == 0) touch(i % 15);
        else faults++;
        after();
    }
    printf("faults %d\n", faults);
    printf("expect site=in_handler blocks=500 bytes=32000 live=0\n");
    printf("expect site=after blocks=500 bytes=16000 live=0\n");
    return 0;
}
