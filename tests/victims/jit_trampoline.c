// victim: machine code in a mapped page, with and without a frame pointer, calls malloc directly and through a callback; flags:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *volatile sink;
typedef void *(*code)(void *(*f)(size_t), size_t n);

// Both call their first argument with their second.
static const unsigned char with_frame[] = {0x55, 0x48, 0x89, 0xe5,        // push rbp; mov rbp, rsp
                                           0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,  // mov rax, rdi; mov rdi, rsi
                                           0xff, 0xd0, 0x5d, 0xc3};       // call rax; pop rbp; ret
static const unsigned char without_frame[] = {0x48, 0x83, 0xec, 0x28,     // sub rsp, 40
                                              0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,
                                              0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3};

__attribute__((noinline, noipa)) static void *callback(size_t n) {
    sink = malloc(n);
    return sink;
}
__attribute__((noinline, noipa)) static void below_code(code f, size_t n) {
    free(f(malloc, n));
    free(f(callback, n));
}
// The page is made anew with the other code at the same address, so rules that were
// remembered for these addresses are wrong in the next round.
static code load(void *page, const unsigned char *bytes, size_t size) {
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    memset(page, 0xcc, 4096);
    memcpy(page, bytes, size);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    return (code)page;
}

int main(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 200; i++) {
        code f = load(page, with_frame, sizeof with_frame);
        for (int k = 0; k < 10; k++) below_code(f, 48);
        f = load(page, without_frame, sizeof without_frame);
        for (int k = 0; k < 10; k++) below_code(f, 56);
    }
    munmap(page, 4096);
    free(callback(8));
    printf("expect site=callback blocks=4001 bytes=208008 live=0\n");
    return 0;
}
