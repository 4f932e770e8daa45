// The numbers of options: places in an enumeration of C (`mi_option_e` in mimalloc.h), which the crate does not name. The
// library reads settings back by them, which shows that they are right, and `heapwise` writes them into fixes.

pub(crate) const V2: &[(&str, i32)] = &[
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

pub(crate) const V3: &[(&str, i32)] = &[
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
