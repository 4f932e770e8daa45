//! The C library's allocation functions, for an allocator that has a few of them under other names.
//!
//! A Rust library hides the C symbols of what is linked into it, so an allocator that is to take malloc's place has to be
//! given its name again. The functions that few programs call are made of the others, in the same way for all.

#![no_std]

/// Bytes of a page, to which `valloc` and `pvalloc` round.
pub const PAGE: usize = 4096;

/// Exports the functions of an allocator under the C library's names.
#[macro_export]
macro_rules! entry_points {
    (
        malloc: $malloc:path,
        calloc: $calloc:path,
        realloc: $realloc:path,
        free: $free:path,
        aligned_alloc: $aligned_alloc:path,
        posix_memalign: $posix_memalign:path,
        malloc_usable_size: $usable:path $(,)?
    ) => {
        use ::core::ffi::{c_int, c_void};

        $crate::entry_points!(@
            malloc(size: usize) -> *mut c_void => $malloc(size);
            calloc(count: usize, size: usize) -> *mut c_void => $calloc(count, size);
            realloc(block: *mut c_void, size: usize) -> *mut c_void => $realloc(block, size);
            free(block: *mut c_void) => $free(block);
            aligned_alloc(alignment: usize, size: usize) -> *mut c_void => $aligned_alloc(alignment, size);
            memalign(alignment: usize, size: usize) -> *mut c_void => $aligned_alloc(alignment, size);
            posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int
                => $posix_memalign(block, alignment, size);
            malloc_usable_size(block: *mut c_void) -> usize => $usable(block);
            valloc(size: usize) -> *mut c_void => $aligned_alloc($crate::PAGE, size);
            pvalloc(size: usize) -> *mut c_void => match size.checked_next_multiple_of($crate::PAGE) {
                Some(size) => $aligned_alloc($crate::PAGE, size.max($crate::PAGE)),
                None => ::core::ptr::null_mut(),
            };
            reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void => match count.checked_mul(size) {
                Some(size) => $realloc(block, size),
                None => ::core::ptr::null_mut(),
            };
        );
    };
    (@ $($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? => $body:expr;)*) => {$(
        /// The C function of this name.
        ///
        /// # Safety
        ///
        /// That of the C function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: the caller keeps the contract of the C function, which is that of the allocator's function as well.
            unsafe { $body }
        }
    )*};
}
