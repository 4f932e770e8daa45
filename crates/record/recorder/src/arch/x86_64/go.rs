//! How Go calls functions: with its arguments in other registers than C, on a stack of its own that may have hardly any room.
//!
//! A function of Go may change all registers but `rsp`, `rbp`, `r14` and `xmm15`, which is zero
//! (<https://go.dev/s/regabi>, "amd64 architecture").

/// Bytes of the stack on which a watched call is looked at.
pub const STACK_BYTES: usize = 64 << 10;

/// A naked function for Go's `Syscall6(number, a, b, c, d, e, f)`, which it goes on with, the arguments and the stack as they were. For
/// the numbers of `execve` and `execveat` it calls `$before` first, with the address of the
/// [`Arguments`](crate::arch::entry::Arguments) that C would have and the number; no longer once a filter of system calls was installed
/// by it, which is noted in `$filtered`.
///
/// The call is on a stack that is mapped for this call. Children that have borrowed their parent's memory may call it at the same time, and
/// one of them may be killed meanwhile, so none is kept; registers of vectors have what the two system calls overwrite.
#[macro_export]
macro_rules! shim_of_go {
    ($name:ident => $before:path, $filtered:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "cmp rax, {execve}",
                "je 2f",
                "cmp rax, {execveat}",
                "je 2f",
                "cmp rax, {seccomp}",
                "je 4f",
                "cmp rax, {prctl}",
                "je 5f",
                "jmp qword ptr [r11]",
                // seccomp(SECCOMP_SET_MODE_FILTER, …)
                "4:",
                "cmp rbx, 1",
                "je 6f",
                "jmp qword ptr [r11]",
                // prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, …)
                "5:",
                "cmp rbx, 22",
                "jne 3f",
                "cmp rcx, 2",
                "jne 3f",
                "6:",
                "mov dword ptr [rip + {filtered}], 1",
                "jmp qword ptr [r11]",
                "2:",
                "cmp dword ptr [rip + {filtered}], 0",
                "jne 3f",
                "movq xmm0, rax",
                "movq xmm1, rcx",
                "movq xmm2, rdi",
                "movq xmm3, rsi",
                "movq xmm4, r8",
                "movq xmm5, r9",
                "movq xmm6, r11",
                // mmap(null, size, read and write, private and anonymous, no file, 0)
                "mov eax, {mmap}",
                "xor edi, edi",
                "mov esi, {size}",
                "mov edx, 3",
                "mov r10d, 0x22",
                "mov r8, -1",
                "xor r9d, r9d",
                "syscall",
                "mov r12, rax",
                "movq rax, xmm0",
                "movq rcx, xmm1",
                "movq rdi, xmm2",
                "movq rsi, xmm3",
                "movq r8, xmm4",
                "movq r9, xmm5",
                "movq r11, xmm6",
                // Error numbers are negative.
                "test r12, r12",
                "js 3f",
                "mov r13, rsp",
                "lea rsp, [r12 + {size}]",
                ".cfi_undefined rip",
                "push r13",
                "push r12",
                // For an even number of words before the call, as C requires.
                "push r14",
                "push r11",
                // The return address and `rax`, which lie behind the six arguments.
                "push qword ptr [r13]",
                "push rax",
                "push r9",
                "push r8",
                "push rsi",
                "push rdi",
                "push rcx",
                "push rbx",
                "mov rdi, rsp",
                "mov rsi, rax",
                "call {before}",
                "pop rbx",
                "pop rcx",
                "pop rdi",
                "pop rsi",
                "pop r8",
                "pop r9",
                "pop rax",
                "add rsp, 8",
                "pop r11",
                "pop r14",
                "pop r12",
                "pop rsp",
                "xorps xmm15, xmm15",
                "movq xmm0, rax",
                "movq xmm1, rcx",
                "movq xmm2, rdi",
                "movq xmm3, rsi",
                "movq xmm6, r11",
                "mov eax, {munmap}",
                "mov rdi, r12",
                "mov esi, {size}",
                "syscall",
                "movq rax, xmm0",
                "movq rcx, xmm1",
                "movq rdi, xmm2",
                "movq rsi, xmm3",
                "movq r11, xmm6",
                "3:",
                "jmp qword ptr [r11]",
                ".cfi_endproc",
                execve = const $crate::arch::syscall::number::EXECVE,
                execveat = const $crate::arch::syscall::number::EXECVEAT,
                mmap = const $crate::arch::syscall::number::MMAP,
                munmap = const $crate::arch::syscall::number::MUNMAP,
                size = const $crate::arch::go::STACK_BYTES,
                seccomp = const $crate::arch::syscall::number::SECCOMP,
                prctl = const $crate::arch::syscall::number::PRCTL,
                filtered = sym $filtered,
                before = sym $before,
            )
        }
    };
}

/// The same for `RawSyscall(number, a, b, c)` and its relatives before Go 1.19, which have their arguments on the stack, behind the return
/// address: puts them where `$in_registers`, a [`shim_of_go!`], expects them. The function that goes on reads them from the stack, and
/// its callers expect nothing of any register but `rsp` and `rbp`.
///
/// One with three arguments has its results where the others would be, which may be read.
#[macro_export]
macro_rules! shim_of_go_on_stack {
    ($name:ident => $in_registers:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, qword ptr [rsp + 8]",
                "mov rbx, qword ptr [rsp + 16]",
                "mov rcx, qword ptr [rsp + 24]",
                "mov rdi, qword ptr [rsp + 32]",
                "mov rsi, qword ptr [rsp + 40]",
                "mov r8, qword ptr [rsp + 48]",
                "mov r9, qword ptr [rsp + 56]",
                "jmp {in_registers}",
                ".cfi_endproc",
                in_registers = sym $in_registers,
            )
        }
    };
}
