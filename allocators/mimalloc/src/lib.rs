//! mimalloc, of the version that the package chooses, under the names of the C library's functions.

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
