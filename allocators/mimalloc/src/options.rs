//! What differs between the versions: the numbers of options, which the crate does not name.
//!
//! They are places in an enumeration of C (`mi_option_e` in mimalloc.h). The package's name says which version it is.

use core::ffi::{CStr, c_int};

const IS_V2: bool = matches!(env!("CARGO_PKG_NAME").as_bytes(), b"mimalloc2");

pub(crate) const NAME: &CStr = if IS_V2 { c"mimalloc2" } else { c"mimalloc" };

/// Options by name, of those that heapwise sets.
pub(crate) const NUMBERS: &[(&str, c_int)] = if IS_V2 { V2 } else { V3 };

const V2: &[(&str, c_int)] = &[
    ("eager_commit", 3),
    ("arena_eager_commit", 4),
    ("purge_decommits", 5),
    ("allow_large_os_pages", 6),
    ("abandoned_page_purge", 12),
    ("eager_commit_delay", 14),
    ("purge_delay", 15),
    ("arena_reserve", 23),
    ("arena_purge_mult", 24),
    ("purge_extend_delay", 25),
    ("abandoned_reclaim_on_free", 26),
    ("target_segments_per_thread", 35),
    ("generic_collect", 36),
    ("allow_thp", 37),
];

const V3: &[(&str, c_int)] = &[
    ("arena_eager_commit", 4),
    ("purge_decommits", 5),
    ("allow_large_os_pages", 6),
    ("purge_delay", 15),
    ("arena_reserve", 23),
    ("arena_purge_mult", 24),
    ("generic_collect", 34),
    ("page_reclaim_on_free", 35),
    ("page_full_retain", 36),
    ("page_max_candidates", 37),
    ("allow_thp", 43),
    ("minimal_purge_size", 44),
    ("arena_max_object_size", 45),
];
