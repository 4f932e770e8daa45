//! Google's tcmalloc under the names of the C library's functions.
//!
//! A program that has its crate keeps blocks for each thread, and returns no page to the system by itself: the object files with the
//! caches of processors and with the background are not linked, since the crate does not name them. Here they are, and
//! rest unless a setting wakes them up.

#![cfg_attr(panic = "abort", no_std)]

mod background;
mod native;
mod settings;

use core::ffi::c_char;
use entry::Statistics;
use native::*;

// Functions that the linker is content with, and that are not seen outside of this library.
//
// - Streams are declared by abseil and never used. Their initialisation would bring all locales of libstdc++.
// - The C++ divides 128-bit numbers by functions of Rust's, which name the one that handles panics. They have none.
#[cfg(panic = "abort")]
core::arch::global_asm!(
    ".globl _ZNSt8ios_base4InitC1Ev",
    ".hidden _ZNSt8ios_base4InitC1Ev",
    ".globl _ZNSt8ios_base4InitD1Ev",
    ".hidden _ZNSt8ios_base4InitD1Ev",
    "_ZNSt8ios_base4InitC1Ev:",
    "_ZNSt8ios_base4InitD1Ev:",
    "ret",
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    // In the words of each processor: to get here is a mistake.
    ".long 0",
);

entry::entry_points! {
    malloc: TCMallocInternalMalloc,
    calloc: TCMallocInternalCalloc,
    realloc: TCMallocInternalRealloc,
    free: TCMallocInternalFree,
    aligned_alloc: TCMallocInternalAlignedAlloc,
    posix_memalign: TCMallocInternalPosixMemalign,
    malloc_usable_size: TCMallocInternalMallocSize,
}

entry::about! {
    name: c"tcmalloc-google",
    version: version,
    statistics: statistics,
    setting: settings::setting,
    purge: purge,
}

/// Google's tcmalloc has no versions. This is the crate's, of which Cargo.toml asks for exactly this one.
fn version() -> *const c_char {
    c"0.1.14".as_ptr()
}

fn statistics() -> Option<Statistics> {
    let get = |name| property(name).unwrap_or(entry::UNKNOWN);
    let (heap, free) = (property("generic.heap_size")?, property("tcmalloc.pageheap_free_bytes")?);
    let physical = get("generic.physical_memory_used");
    Some(Statistics {
        allocated: get("generic.current_allocated_bytes"),
        // Each is read under a separate lock.
        active: heap.saturating_sub(free),
        metadata: get("tcmalloc.metadata_bytes"),
        resident: physical,
        mapped: physical,
        retained: get("tcmalloc.pageheap_unmapped_bytes"),
    })
}

/// More than any heap has, and small enough to be rounded up to pages.
const ALL: usize = 1 << 46;

fn purge() -> bool {
    // Otherwise it would keep what it thinks is needed again soon, looking back at five minutes.
    let get = [
        MallocExtension_Internal_GetSkipSubreleaseShortInterval,
        MallocExtension_Internal_GetSkipSubreleaseLongInterval,
    ];
    let [short, long] = get.map(duration);
    let set = |short, long| {
        MallocExtension_Internal_SetSkipSubreleaseShortInterval(short);
        MallocExtension_Internal_SetSkipSubreleaseLongInterval(long);
    };
    set(Duration::from_ms(0), Duration::from_ms(0));
    MallocExtension_Internal_ReleaseMemoryToSystem(ALL);
    set(short, long);
    true
}
