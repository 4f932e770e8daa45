//! jemalloc under the names of the C library's functions.

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
