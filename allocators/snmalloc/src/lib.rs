//! snmalloc under the names of the C library's functions.

#![cfg_attr(panic = "abort", no_std)]

use core::ffi::{CStr, c_char};
use entry::{Statistics, Text};
// Links the library that has the functions below; its crate declares some of them only.
use snmalloc_sys as _;

// All that its C++ needs of libstdc++ is this function, which the C library has under another name. Without this line the
// program would load libstdc++, whose memory would be counted as snmalloc's. It is not seen outside of this library.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl __cxa_thread_atexit",
    ".hidden __cxa_thread_atexit",
    "__cxa_thread_atexit:",
    "jmp __cxa_thread_atexit_impl@PLT",
);

unsafe extern "C" {
    fn sn_malloc(size: usize) -> *mut c_void;
    fn sn_calloc(count: usize, size: usize) -> *mut c_void;
    fn sn_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn sn_free(block: *mut c_void);
    fn sn_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn sn_posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    fn sn_malloc_usable_size(block: *mut c_void) -> usize;
    fn sn_rust_statistics(current: *mut usize, peak: *mut usize);
}

entry::entry_points! {
    malloc: sn_malloc,
    calloc: sn_calloc,
    realloc: sn_realloc,
    free: sn_free,
    aligned_alloc: sn_aligned_alloc,
    posix_memalign: sn_posix_memalign,
    malloc_usable_size: sn_malloc_usable_size,
}

entry::about! {
    name: c"snmalloc",
    version: version,
    statistics: statistics,
    setting: setting,
    purge: purge,
}

/// The library does not tell its own; Cargo.toml asks for exactly this one.
fn version() -> *const c_char {
    c"0.7.6".as_ptr()
}

fn statistics() -> Option<Statistics> {
    let (mut current, mut peak) = (0, 0);
    // SAFETY: both are numbers of ours.
    unsafe { sn_rust_statistics(&raw mut current, &raw mut peak) };
    Some(Statistics { mapped: current as u64, ..Statistics::NONE })
}

/// It has none.
fn setting(_: &CStr, _: &mut Text) -> Option<()> {
    None
}

/// It returns pages by itself, and has no function for it.
fn purge() -> bool {
    false
}
