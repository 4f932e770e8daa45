//! The image: one function, at which the collector has a thread of the process begin.

#![expect(unsafe_code, reason = "is called from outside")]

use heapwise_recorder::image;

/// Calls [`image::enter`] with what it gets, stores the result where `r12` points to, and returns as a handler of a signal does, from the
/// frame of which the part for the processor is at `r13`. So the thread goes on where it was, whoever is still there to look after it.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn heapwise_image_start() {
    core::arch::naked_asm!(
        "call {enter}",
        "mov dword ptr [r12], eax",
        "mov rsp, r13",
        "2:",
        "mov eax, {rt_sigreturn}",
        "syscall",
        "jmp 2b",
        enter = sym image::enter,
        rt_sigreturn = const 15,
    )
}
