//! The C library's own allocator under its own names, for programs that link another one.
//!
//! Such a program would not get the C library's allocator by having nothing preloaded, and there is no library to preload:
//! it is in libc.so.6, which is loaded behind the one that the program links. So this one comes first and passes each call
//! on, by names that no other library has (`__libc_malloc`). What has no such name is looked up in libc.so.6 itself: a lookup
//! from here on (`RTLD_NEXT`) would find the other allocator.

#![cfg_attr(panic = "abort", no_std)]

use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use entry::{Statistics, Text};

#[link(name = "c")]
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    safe fn gnu_get_libc_version() -> *const c_char;
}

const RTLD_LAZY: c_int = 1;
/// Only what is there already.
const RTLD_NOLOAD: c_int = 4;
const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

/// A function of libc.so.6, whoever else has one of its name. Null if it has none.
fn in_c_library(name: &CStr) -> *mut c_void {
    // SAFETY: C strings; the library is there, since this one needs it, and stays.
    unsafe {
        let library = dlopen(c"libc.so.6".as_ptr(), RTLD_LAZY | RTLD_NOLOAD);
        if library.is_null() { null_mut() } else { dlsym(library, name.as_ptr()) }
    }
}

/// `malloc_usable_size` of the C library.
static USABLE_SIZE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

fn look_up() {
    USABLE_SIZE.store(in_c_library(c"malloc_usable_size"), Ordering::Release);
}

extern "C" fn at_start() {
    look_up();
}

/// The lookup takes the loader's lock, so it is done at the start, before the program could hold its own locks.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;

unsafe extern "C" fn usable_size(block: *mut c_void) -> usize {
    let mut found = USABLE_SIZE.load(Ordering::Acquire);
    if found.is_null() {
        // Another library's start came before ours.
        look_up();
        found = USABLE_SIZE.load(Ordering::Acquire);
    }
    if found.is_null() {
        return 0;
    }
    // SAFETY: the C library's function of this type; the block is from there, by the contract of the caller.
    unsafe {
        let function: unsafe extern "C" fn(*mut c_void) -> usize = core::mem::transmute(found);
        function(block)
    }
}

unsafe extern "C" fn memalign_checked(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return EINVAL;
    }
    // SAFETY: the alignment is one; the caller has room for a pointer.
    unsafe {
        let result = __libc_memalign(alignment, size);
        if result.is_null() {
            return ENOMEM;
        }
        block.write(result);
    }
    entry::DONE
}

entry::entry_points! {
    malloc: __libc_malloc,
    calloc: __libc_calloc,
    realloc: __libc_realloc,
    free: __libc_free,
    aligned_alloc: __libc_memalign,
    posix_memalign: memalign_checked,
    malloc_usable_size: usable_size,
}

entry::about! {
    name: c"glibc",
    version: gnu_get_libc_version,
    statistics: statistics,
    setting: setting,
    purge: purge,
}

/// `struct mallinfo2` of malloc.h.
#[repr(C)]
struct MallocInfo {
    arena: usize,
    ordblks: usize,
    smblks: usize,
    hblks: usize,
    hblkhd: usize,
    usmblks: usize,
    fsmblks: usize,
    uordblks: usize,
    fordblks: usize,
    keepcost: usize,
}

fn statistics() -> Option<Statistics> {
    let function = in_c_library(c"mallinfo2");
    if function.is_null() {
        return None;
    }
    // SAFETY: the C library's function of this type.
    let info = unsafe {
        let function: unsafe extern "C" fn() -> MallocInfo = core::mem::transmute(function);
        function()
    };
    Some(Statistics {
        allocated: (info.uordblks + info.hblkhd) as u64,
        mapped: (info.arena + info.hblkhd) as u64,
        ..Statistics::NONE
    })
}

/// What is in force, only the loader reports (`--list-tunables`).
fn setting(_: &CStr, _: &mut Text) -> Option<()> {
    None
}

fn purge() -> bool {
    let function = in_c_library(c"malloc_trim");
    if function.is_null() {
        return false;
    }
    // SAFETY: the C library's function of this type. It returns whether there was anything to free.
    unsafe {
        let function: unsafe extern "C" fn(usize) -> c_int = core::mem::transmute(function);
        function(0);
    }
    true
}
