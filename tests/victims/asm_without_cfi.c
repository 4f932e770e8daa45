// victim: hand written assembly without unwind information calls malloc, with a good, a missing, a wild and a lying frame pointer; flags:
#include <stdio.h>
#include <stdlib.h>

// Stacks through these may be cut or may follow the frame pointer; nothing may crash.
extern void *asm_plain(size_t), *asm_frame_pointer(size_t), *asm_wild_pointer(size_t), *asm_lying_pointer(size_t);
__asm__(
    ".text\n"
    ".type asm_plain, @function\n"
    "asm_plain:\n"
    "  push %rbx\n  sub $32, %rsp\n  call malloc@PLT\n  add $32, %rsp\n  pop %rbx\n  ret\n"
    ".size asm_plain, .-asm_plain\n"
    ".type asm_frame_pointer, @function\n"
    "asm_frame_pointer:\n"
    "  push %rbp\n  mov %rsp, %rbp\n  call malloc@PLT\n  pop %rbp\n  ret\n"
    ".size asm_frame_pointer, .-asm_frame_pointer\n"
    ".type asm_wild_pointer, @function\n"
    "asm_wild_pointer:\n"
    "  push %rbp\n  movabs $0xdeadbeefcafe1231, %rbp\n  call malloc@PLT\n  pop %rbp\n  ret\n"
    ".size asm_wild_pointer, .-asm_wild_pointer\n"
    // rbp points into the own stack, at words that look like a frame but are none: the
    // saved rbp is higher on the stack and the return address is no code.
    ".type asm_lying_pointer, @function\n"
    "asm_lying_pointer:\n"
    "  push %rbp\n  sub $32, %rsp\n  lea 64(%rsp), %rax\n  mov %rax, (%rsp)\n  movq $0x1000, 8(%rsp)\n"
    "  mov %rsp, %rbp\n  call malloc@PLT\n  add $32, %rsp\n  pop %rbp\n  ret\n"
    ".size asm_lying_pointer, .-asm_lying_pointer\n");

static void *volatile sink;

int main(void) {
    for (int i = 0; i < 1000; i++) {
        sink = asm_plain(11);
        free(sink);
        sink = asm_frame_pointer(22);
        free(sink);
        sink = asm_wild_pointer(33);
        free(sink);
        sink = asm_lying_pointer(44);
        free(sink);
    }
    // Only the innermost frame is promised.
    printf("expect site=asm_plain blocks=1000 bytes=11000 live=0\n");
    printf("expect site=asm_frame_pointer blocks=1000 bytes=22000 live=0\n");
    printf("expect site=asm_wild_pointer blocks=1000 bytes=33000 live=0\n");
    printf("expect site=asm_lying_pointer blocks=1000 bytes=44000 live=0\n");
    return 0;
}
