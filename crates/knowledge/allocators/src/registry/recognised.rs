//! Allocators that a program may have and that heapwise has no library of.

use crate::family::{Family, Sign::Exact, Sign::Mangled};

/// They come after those of the table.
pub(super) static RECOGNISED: &[Family] = &[
    Family {
        name: "hoard",
        word: "hoard",
        libraries: &["libhoard"],
        symbols: &[Mangled("N5Hoard"), Exact("xxmalloc")],
        ..Family::UNKNOWN
    },
    Family {
        name: "scudo",
        word: "scudo",
        libraries: &["libscudo"],
        symbols: &[Mangled("N5scudo"), Exact("__scudo_default_options")],
        ..Family::UNKNOWN
    },
    Family {
        name: "PartitionAlloc",
        symbols: &[Mangled("N14partition_alloc"), Mangled("4base14partition_alloc")],
        ..Family::UNKNOWN
    },
    Family {
        name: "mozjemalloc",
        symbols: &[Exact("moz_arena_malloc")],
        also_defines: &["mallocx", "rallocx"],
        ..Family::UNKNOWN
    },
    Family { name: "dlmalloc", symbols: &[Exact("dlmalloc"), Mangled("8dlmalloc")], ..Family::UNKNOWN },
    Family { libraries: &["libasan"], ..sanitizer("AddressSanitizer", &[Exact("__asan_init")]) },
    sanitizer("MemorySanitizer", &[Exact("__msan_init")]),
    sanitizer("ThreadSanitizer", &[Exact("__tsan_init")]),
    sanitizer("LeakSanitizer", &[Exact("__lsan_init")]),
    // Only a static executable defines these itself.
    Family {
        name: crate::MUSL,
        symbols: &[Exact("__libc_malloc_impl"), Exact("__malloc_donate"), Exact("__expand_heap")],
        ..Family::UNKNOWN
    },
    Family { name: "Go runtime", symbols: &[Exact("runtime.mallocgc")], ..Family::UNKNOWN },
];

const fn sanitizer(name: &'static str, symbols: &'static [crate::family::Sign]) -> Family {
    Family { name, symbols, is_sanitizer: true, ..Family::UNKNOWN }
}
