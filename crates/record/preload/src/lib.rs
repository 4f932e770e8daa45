//! What gets into recorded programs, and nothing else: the library that is preloaded, or the image that is written into a process from
//! outside.

#![cfg_attr(panic = "abort", no_std)]

#[cfg(feature = "image")]
pub mod image;
#[cfg(not(feature = "image"))]
pub mod library;
#[cfg(feature = "image")]
pub mod memory;

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    heapwise_recorder::sys::complain("heapwise: internal error in the recorder, please report it\n");
    heapwise_recorder::sys::exit_now(127)
}
