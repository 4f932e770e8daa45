//! snmalloc under the names of the C library's functions.

// Links the library that has the functions below; its crate declares some of them only.
use snmalloc_sys as _;

unsafe extern "C" {
    fn sn_malloc(size: usize) -> *mut c_void;
    fn sn_calloc(count: usize, size: usize) -> *mut c_void;
    fn sn_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn sn_free(block: *mut c_void);
    fn sn_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn sn_posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    fn sn_malloc_usable_size(block: *mut c_void) -> usize;
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
