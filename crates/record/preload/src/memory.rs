//! The functions on memory that compiled code calls without being asked to. An image has no C library to take them from.
//!
//! They are rarely called: what is copied on the way of an event is of a known size. The processor's own instructions for it are as
//! quick as more code would be.

#![expect(unsafe_code, reason = "defines C functions")]

use core::arch::naked_asm;

/// C's `memcpy`.
///
/// # Safety
/// As the C function; so for all the following.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn memcpy() {
    naked_asm!("mov rax, rdi", "mov rcx, rdx", "rep movsb", "ret")
}

/// C's `memmove`.
///
/// # Safety
/// See [`memcpy`].
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn memmove() {
    naked_asm!(
        "mov rax, rdi",
        "mov rcx, rdx",
        // The target begins within the source: from behind.
        "mov r8, rdi",
        "sub r8, rsi",
        "cmp r8, rdx",
        "jb 2f",
        "rep movsb",
        "ret",
        "2:",
        "lea rdi, [rdi + rdx - 1]",
        "lea rsi, [rsi + rdx - 1]",
        "std",
        "rep movsb",
        "cld",
        "ret",
    )
}

/// C's `memset`.
///
/// # Safety
/// See [`memcpy`].
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn memset() {
    naked_asm!("mov r8, rdi", "mov eax, esi", "mov rcx, rdx", "rep stosb", "mov rax, r8", "ret")
}

/// C's `memcmp`.
///
/// # Safety
/// See [`memcpy`].
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn memcmp() {
    naked_asm!(
        "xor eax, eax",
        "mov rcx, rdx",
        // Without bytes the flags are those of equal ones.
        "cmp rcx, rcx",
        "repe cmpsb",
        "je 2f",
        "movzx eax, byte ptr [rdi - 1]",
        "movzx ecx, byte ptr [rsi - 1]",
        "sub ecx, eax",
        "mov eax, ecx",
        "2:",
        "ret",
    )
}

/// BSD's `bcmp`.
///
/// # Safety
/// See [`memcpy`].
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn bcmp() {
    naked_asm!("jmp {memcmp}", memcmp = sym memcmp)
}

/// C's `strlen`.
///
/// # Safety
/// See [`memcpy`].
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn strlen() {
    naked_asm!("xor eax, eax", "2:", "cmp byte ptr [rdi + rax], 0", "je 3f", "inc rax", "jmp 2b", "3:", "ret")
}
