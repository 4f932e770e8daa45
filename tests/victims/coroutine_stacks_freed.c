// victim: coroutines that are abandoned half way and whose stacks are unmapped or freed and come back as other memory; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK 65536
static ucontext_t home, routine;
static void *volatile sink;

__attribute__((noinline, noipa)) static void in_coroutine(int depth) {
    sink = malloc(72);
    free(sink);
    if (depth > 0) in_coroutine(depth - 1);
    else swapcontext(&routine, &home);
    __asm__ volatile("");
}

__attribute__((noinline, noipa)) static void at_home(void) {
    sink = malloc(88);
    free(sink);
}

int main(void) {
    for (volatile int i = 0; i < 600; i++) {
        int mapped = i % 2;
        char *volatile stack = mapped ? mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : malloc(STACK);
        getcontext(&routine);
        routine.uc_stack.ss_sp = stack;
        routine.uc_stack.ss_size = STACK;
        routine.uc_link = NULL;
        makecontext(&routine, (void (*)(void))in_coroutine, 1, i % 9);
        swapcontext(&home, &routine);
        // It never ran to its end; whoever remembers its frames must not read them any more.
        if (mapped) munmap(stack, STACK);
        else memset(stack, 0x41, STACK), free(stack);
        at_home();
    }
    long in = 0;
    for (int i = 0; i < 600; i++) in += i % 9 + 1;
    printf("expect site=in_coroutine blocks=%ld bytes=%ld live=0\n", in, in * 72);
    printf("expect site=at_home blocks=600 bytes=52800 live=0\n");
    return 0;
}
