//! jemalloc under the names of the C library's functions.

#![cfg_attr(panic = "abort", no_std)]

use core::ffi::{CStr, c_char};
use core::fmt::Write;
use entry::{Statistics, Text};
use tikv_jemalloc_sys as je;

/// Its type is that of a constant block where the C library's is not.
unsafe extern "C" fn usable_size(block: *mut c_void) -> usize {
    // SAFETY: passed on as it came.
    unsafe { je::malloc_usable_size(block) }
}

entry::entry_points! {
    malloc: je::malloc,
    calloc: je::calloc,
    realloc: je::realloc,
    free: je::free,
    aligned_alloc: je::aligned_alloc,
    posix_memalign: je::posix_memalign,
    malloc_usable_size: usable_size,
}

entry::about! {
    name: c"jemalloc",
    version: version,
    statistics: statistics,
    setting: setting,
    purge: purge,
}

/// Asks jemalloc for a value of this type; `None` if there is none of the name, or one of another size.
///
/// # Safety
///
/// Any bytes of the value's length have to be a valid `T`, or jemalloc's to be one.
unsafe fn read<T>(name: &CStr) -> Option<T> {
    let mut value = core::mem::MaybeUninit::<T>::uninit();
    let mut len = size_of::<T>();
    // SAFETY: the name is a C string, and there is room for as many bytes as we say.
    let result = unsafe {
        je::mallctl(name.as_ptr().cast(), value.as_mut_ptr().cast(), &raw mut len, core::ptr::null_mut(), 0)
    };
    // SAFETY: it was written as a whole.
    (result == 0 && len == size_of::<T>()).then(|| unsafe { value.assume_init() })
}

fn version() -> *const c_char {
    // SAFETY: jemalloc has a C string there.
    unsafe { read::<*const c_char>(c"version") }.unwrap_or(c"".as_ptr())
}

fn statistics() -> Option<Statistics> {
    let mut epoch = 1u64;
    // SAFETY: the name is a C string; jemalloc reads the number.
    unsafe {
        je::mallctl(
            c"epoch".as_ptr().cast(),
            core::ptr::null_mut(),
            core::ptr::null_mut(),
            (&raw mut epoch).cast(),
            size_of::<u64>(),
        )
    };
    // SAFETY: any bytes are a number.
    let get = |name: &CStr| unsafe { read::<usize>(name) }.map_or(entry::UNKNOWN, |n| n as u64);
    Some(Statistics {
        allocated: get(c"stats.allocated"),
        active: get(c"stats.active"),
        metadata: get(c"stats.metadata"),
        resident: get(c"stats.resident"),
        mapped: get(c"stats.mapped"),
        retained: get(c"stats.retained"),
    })
}

/// Settings that are words.
const WORDS: [&[u8]; 3] = [b"percpu_arena", b"thp", b"metadata_thp"];
/// The only one that is an `unsigned`.
const SMALL: &[u8] = b"narenas";

fn setting(name: &CStr, out: &mut Text) -> Option<()> {
    let mut full = [0; 64];
    let bytes = name.to_bytes();
    full[..4].copy_from_slice(b"opt.");
    full.get_mut(4..4 + bytes.len())?.copy_from_slice(bytes);
    let full = CStr::from_bytes_until_nul(&full).ok()?;
    // SAFETY: bytes of any value are a number.
    if let Some(switch) = unsafe { read::<u8>(full) } {
        return out.write_str(if switch == 0 { "false" } else { "true" }).ok();
    }
    if WORDS.contains(&bytes) {
        // SAFETY: these are pointers to C strings that stay.
        let word = unsafe { CStr::from_ptr(read::<*const c_char>(full)?) };
        return out.write_str(word.to_str().ok()?).ok();
    }
    if bytes == SMALL {
        // SAFETY: bytes of any value are a number.
        return write!(out, "{}", unsafe { read::<u32>(full) }?).ok();
    }
    // SAFETY: bytes of any value are a number.
    write!(out, "{}", unsafe { read::<i64>(full) }?).ok()
}

fn purge() -> bool {
    // 4096 stands for all arenas (MALLCTL_ARENAS_ALL).
    let name = c"arena.4096.purge";
    let none = core::ptr::null_mut();
    // SAFETY: the name is a C string, and nothing is passed.
    unsafe { je::mallctl(name.as_ptr().cast(), none, none.cast(), none, 0) == 0 }
}
