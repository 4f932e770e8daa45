// victim: hand-written coroutines on malloced stacks (a stack switch of ten instructions) allocate on each, and are left for good in the middle; flags:
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__asm__(".globl change\nchange:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
extern void change(void **from, void *to);

#define COROUTINES 50
static void *mine, *theirs[COROUTINES];
static int current;

__attribute__((noinline, noipa)) static void step(int n) {
    void *volatile p = malloc(n);
    free(p);
}
static void body(void) {
    for (;;) {
        step(10 + current);
        change(&theirs[current], mine);
    }
}

int main(void) {
    static char *stacks[COROUTINES];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < COROUTINES; i++) {
            stacks[i] = malloc(32 << 10);
            uintptr_t *top = (uintptr_t *)(((uintptr_t)stacks[i] + (32 << 10)) & ~15ul);
            *--top = 0;
            *--top = (uintptr_t)body;
            theirs[i] = top - 6;
        }
        for (int turn = 0; turn < 10; turn++)
            for (current = 0; current < COROUTINES; current++) change(&mine, theirs[current]);
        for (int i = 0; i < COROUTINES; i++) free(stacks[i]);
    }
    puts("left");
    return 0;
}
