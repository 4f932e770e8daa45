//! A preload library that does nothing: it hands the calls of the allocator behind it on. What it costs a program, whatever stands in
//! front of an allocator costs, too.
//! Build: rustc -O --edition 2021 --crate-type cdylib -C panic=abort interposer.rs

#![no_std]

use core::ffi::{c_char, c_void, CStr};
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, Ordering};

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// RTLD_NEXT.
const BEHIND_THIS: *mut c_void = -1_isize as *mut c_void;

static MALLOC: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static CALLOC: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static REALLOC: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static FREE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

#[inline(always)]
fn behind(function: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = function.load(Ordering::Relaxed);
    if known.is_null() { look_up(function, name) } else { known }
}

#[cold]
#[inline(never)]
fn look_up(function: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero and stays; nothing of it is kept, and nothing of ours is written.
    let found = unsafe { dlsym(BEHIND_THIS, name.as_ptr()) };
    function.store(found, Ordering::Relaxed);
    found
}

/// # Safety
/// As the C function.
#[no_mangle]
pub unsafe extern "C" fn malloc(size: usize) -> *mut u8 {
    // SAFETY: the address of the next C function of this name, which has this type; the caller's call is handed on.
    transmute::<_, extern "C" fn(usize) -> *mut u8>(behind(&MALLOC, c"malloc"))(size)
}

/// # Safety
/// As the C function.
#[no_mangle]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut u8 {
    // SAFETY: the address of the next C function of this name, which has this type; the caller's call is handed on.
    transmute::<_, extern "C" fn(usize, usize) -> *mut u8>(behind(&CALLOC, c"calloc"))(count, size)
}

/// # Safety
/// As the C function.
#[no_mangle]
pub unsafe extern "C" fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the address of the next C function of this name, which has this type; the caller's call is handed on.
    transmute::<_, extern "C" fn(*mut u8, usize) -> *mut u8>(behind(&REALLOC, c"realloc"))(block, size)
}

/// # Safety
/// As the C function.
#[no_mangle]
pub unsafe extern "C" fn free(block: *mut u8) {
    // SAFETY: the address of the next C function of this name, which has this type; the caller's call is handed on.
    transmute::<_, extern "C" fn(*mut u8)>(behind(&FREE, c"free"))(block)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
