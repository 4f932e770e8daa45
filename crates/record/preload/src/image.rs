//! The image: one function, at which the collector has a thread of the process begin.

#![expect(unsafe_code, reason = "is called from outside")]

use heapwise_recorder::image;

/// Calls [`image::start`] with what it gets, and stops. The result is in the register for results.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn heapwise_image_start() {
    core::arch::naked_asm!("call {start}", "int3", start = sym image::start)
}
