//! mimalloc, of the version that the package chooses, under the names of the C library's functions.

#![cfg_attr(panic = "abort", no_std)]

mod options;

use core::ffi::{CStr, c_char};
use core::fmt::Write;
use core::sync::atomic::{AtomicU8, Ordering};
use entry::{Statistics, Text};
use libmimalloc_sys as mi;

/// mimalloc has it with the arguments in another order.
unsafe extern "C" fn aligned(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: passed on as it came.
    unsafe { mi::mi_malloc_aligned(size, alignment) }
}

unsafe extern "C" fn usable_size(block: *mut c_void) -> usize {
    // SAFETY: passed on as it came.
    unsafe { mi::mi_usable_size(block) }
}

entry::entry_points! {
    malloc: mi::mi_malloc,
    calloc: mi::mi_calloc,
    realloc: mi::mi_realloc,
    free: mi::mi_free,
    aligned_alloc: aligned,
    posix_memalign: mi::mi_posix_memalign,
    malloc_usable_size: usable_size,
}

entry::about! {
    name: options::NAME,
    version: version,
    statistics: statistics,
    setting: setting,
    purge: purge,
}

/// "3.3.2" at most, with a few digits more.
static VERSION: [AtomicU8; 16] = [const { AtomicU8::new(0) }; 16];

fn version() -> *const c_char {
    // SAFETY: returns a constant: 30302 for 3.3.2.
    let number = unsafe { mi::mi_version() };
    let mut text = Text::new();
    let _ = write!(text, "{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
    let mut bytes = [0; VERSION.len()];
    // SAFETY: that much room is there.
    unsafe { text.copy_to(bytes.as_mut_ptr(), bytes.len()) };
    // Whoever else is here writes the same.
    for (place, byte) in VERSION.iter().zip(bytes) {
        place.store(byte.cast_unsigned(), Ordering::Relaxed);
    }
    VERSION.as_ptr().cast()
}

fn statistics() -> Option<Statistics> {
    let mut committed = 0;
    let none = core::ptr::null_mut();
    // SAFETY: each pointer is null, or to a number of ours.
    unsafe { mi::mi_process_info(none, none, none, none, none, &raw mut committed, none, none) };
    // It counts blocks only when it is built to; what it has committed is what it has mapped and uses.
    Some(Statistics { mapped: committed as u64, ..Statistics::NONE })
}

fn setting(name: &CStr, out: &mut Text) -> Option<()> {
    let name = name.to_str().ok()?;
    let option = options::NUMBERS.iter().find(|(option, _)| *option == name)?.1;
    // SAFETY: the number of an option of this version.
    write!(out, "{}", unsafe { mi::mi_option_get(option) }).ok()
}

fn purge() -> bool {
    // SAFETY: may be called at any time.
    unsafe { mi::mi_collect(true) };
    true
}
