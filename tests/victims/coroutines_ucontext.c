// victim: eight swapcontext coroutines on their own stacks, which take turns and allocate at varying depth; flags:
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define COUNT 8
#define ROUNDS 500
#define STACK 65536
static ucontext_t home, routine[COUNT];
static int finished;
// Without it the compiler sees through the block and leaves the allocation out.
static void *volatile sink;

__attribute__((noinline, noipa)) static void in_coroutine(int me, int depth) {
    if (depth > 0) {
        in_coroutine(me, depth - 1);
        __asm__ volatile("");
        return;
    }
    char *p = malloc(32 + me);
    sink = p;
    p[0] = (char)me;
    // Another coroutine allocates and frees before this block is freed.
    swapcontext(&routine[me], &home);
    if (p[0] != me) abort();
    free(p);
}

static void body(int me) {
    for (int i = 0; i < ROUNDS; i++) in_coroutine(me, (i + me) % 12);
    finished++;
}

int main(void) {
    for (int i = 0; i < COUNT; i++) {
        getcontext(&routine[i]);
        routine[i].uc_stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        routine[i].uc_stack.ss_size = STACK;
        routine[i].uc_link = &home;
        makecontext(&routine[i], (void (*)(void))body, 1, i);
    }
    // One turn more than there are rounds lets each coroutine return, which leads home.
    for (int turn = 0; turn <= ROUNDS; turn++)
        for (int i = 0; i < COUNT; i++) swapcontext(&home, &routine[i]);
    printf("finished %d\n", finished);
    printf("expect site=in_coroutine blocks=%d bytes=%d live=0\n", COUNT * ROUNDS, COUNT * ROUNDS * 32 + ROUNDS * 28);
    return 0;
}
