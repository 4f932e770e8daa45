//! The image: one function, at which the collector has a thread of the process begin.

#![expect(unsafe_code, reason = "is called from outside")]

use heapwise_recorder::image;

/// Calls [`image::enter`] with what it gets, stores the result where `r12` points to, and sleeps as long as it says behind that: whoever
/// has started it puts it back where it was. Otherwise it returns as a handler of a signal does, from the frame of which the part
/// for the processor is at `r13`, and the thread goes on all the same.
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
        // Of all ways to sleep the one of which the kernel keeps nothing that belongs to the call that the thread was in.
        "xor edi, edi",
        "xor esi, esi",
        "xor edx, edx",
        "xor r10d, r10d",
        "lea r8, [r12 + 8]",
        "xor r9d, r9d",
        "mov eax, {pselect6}",
        "syscall",
        "2:",
        "mov eax, {rt_sigreturn}",
        "syscall",
        "jmp 2b",
        enter = sym image::enter,
        pselect6 = const 270,
        rt_sigreturn = const 15,
    )
}
