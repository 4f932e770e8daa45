//! snmalloc under the names of the C library's functions.
//!
//! A Rust library hides the C symbols of what is linked into it, so each of them is given here once more.

use core::ffi::{c_int, c_void};
// Links the library that has the functions below.
use snmalloc_sys as _;

macro_rules! forward {
    ($($name:ident, $theirs:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        unsafe extern "C" {
            $(fn $theirs($($argument: $type),*) $(-> $result)?;)*
        }
        $(
            /// The C function of this name.
            ///
            /// # Safety
            ///
            /// That of the C function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller keeps the contract of the C function, which snmalloc's has as well.
                unsafe { $theirs($($argument),*) }
            }
        )*
    };
}

forward! {
    malloc, sn_malloc(size: usize) -> *mut c_void;
    calloc, sn_calloc(count: usize, size: usize) -> *mut c_void;
    realloc, sn_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    reallocarray, sn_reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
    free, sn_free(block: *mut c_void);
    posix_memalign, sn_posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    aligned_alloc, sn_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    memalign, sn_memalign(alignment: usize, size: usize) -> *mut c_void;
    valloc, sn_valloc(size: usize) -> *mut c_void;
    pvalloc, sn_pvalloc(size: usize) -> *mut c_void;
    malloc_usable_size, sn_malloc_usable_size(block: *const c_void) -> usize;
}
