//! glibc's allocator as a library to be preloaded, for programs that bring another one: Debian's redis is linked with
//! jemalloc, and would run with it where it is compared with glibc.
//!
//! Nothing is allocated here: each function passes the call on to the name that glibc has for its own use.
//! Build: rustc -O --edition 2021 --crate-type cdylib -C panic=abort glibc.rs

#![no_std]

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[link(name = "c")]
extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_valloc(size: usize) -> *mut c_void;
    fn __libc_pvalloc(size: usize) -> *mut c_void;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;
const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? => $body:expr;)*) => {$(
        /// The C function of this name.
        ///
        /// # Safety
        ///
        /// That of the C function.
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: the caller keeps the contract of the C function, which is that of glibc's own name for it, too.
            unsafe { $body }
        }
    )*};
}

forward! {
    malloc(size: usize) -> *mut c_void => __libc_malloc(size);
    calloc(count: usize, size: usize) -> *mut c_void => __libc_calloc(count, size);
    realloc(block: *mut c_void, size: usize) -> *mut c_void => __libc_realloc(block, size);
    free(block: *mut c_void) => __libc_free(block);
    memalign(alignment: usize, size: usize) -> *mut c_void => __libc_memalign(alignment, size);
    aligned_alloc(alignment: usize, size: usize) -> *mut c_void => __libc_memalign(alignment, size);
    valloc(size: usize) -> *mut c_void => __libc_valloc(size);
    pvalloc(size: usize) -> *mut c_void => __libc_pvalloc(size);
    reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void => match count.checked_mul(size) {
        Some(size) => __libc_realloc(block, size),
        None => null_mut(),
    };
    posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int => {
        if !alignment.is_power_of_two() || alignment % size_of::<usize>() != 0 {
            return EINVAL;
        }
        let new = __libc_memalign(alignment, size);
        if new.is_null() {
            return ENOMEM;
        }
        *block = new;
        0
    };
    malloc_usable_size(block: *mut c_void) -> usize => {
        let real = USABLE.load(Ordering::Relaxed);
        let real = if real.is_null() { find_usable() } else { real };
        core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> usize>(real)(block)
    };
}

/// glibc's `malloc_usable_size`, which has no second name.
static USABLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Asks glibc itself: the next library that has the name may be the program's own allocator.
fn find_usable() -> *mut c_void {
    // SAFETY: both names are C strings, and glibc is loaded, since this library needs it.
    let real = unsafe {
        let libc = dlopen(c"libc.so.6".as_ptr(), RTLD_LAZY | RTLD_NOLOAD);
        dlsym(libc, c"malloc_usable_size".as_ptr())
    };
    USABLE.store(real, Ordering::Relaxed);
    real
}
