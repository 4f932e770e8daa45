//! The entry points of allocators: the functions by which programs call them, and what each one does.
//!
//! The lists are those of the allocators' public headers. Functions that only answer something (statistics) are not in them, but for those
//! that say which size a block would have and which blocks a heap has.

use heapwise_trace::live::hooks::Arguments::{self, *};
use heapwise_trace::live::hooks::HookKind::{self, *};

/// The functions of an allocator.
#[derive(Debug)]
pub struct Points {
    /// The allocator's family, as `heapwise-allocators` calls it.
    pub family: &'static str,
    /// Where a build may put a prefix before all names, which ends with an underscore: a function that all builds have, and others
    /// have not.
    pub sign: Option<&'static str>,
    /// Names without the prefix.
    pub functions: &'static [(&'static str, HookKind)],
    /// Those with other arguments, in allocators without prefix.
    pub others: &'static [(&'static str, HookKind, Arguments)],
    /// Of those behind a heap: they are entered where a file has one of these functions. Without them no program has a heap to call them
    /// with, and the allocator calls some itself, for each block.
    pub heaps: &'static [&'static str],
}

/// All allocators whose functions are known.
pub const ALL: &[Points] = &[
    Points { family: "jemalloc", sign: Some("mallocx"), functions: JEMALLOC, others: &[], heaps: &[] },
    Points {
        family: "mimalloc",
        sign: None,
        functions: MIMALLOC,
        others: MIMALLOC_OTHERS,
        heaps: MIMALLOC_HEAPS,
    },
    Points { family: "snmalloc", sign: None, functions: SNMALLOC, others: &[], heaps: &[] },
    Points { family: "tcmalloc", sign: None, functions: TCMALLOC, others: &[], heaps: &[] },
    Points { family: "tcmalloc-google", sign: None, functions: TCMALLOC_GOOGLE, others: &[], heaps: &[] },
    Points { family: "rpmalloc", sign: None, functions: RPMALLOC, others: &[], heaps: &[] },
];

const JEMALLOC: &[(&str, HookKind)] = &[
    ("malloc", Allocate),
    ("calloc", AllocateArrayZeroed),
    ("realloc", Resize),
    ("free", Free),
    ("free_sized", Free),
    ("free_aligned_sized", Free),
    ("posix_memalign", PosixMemalign),
    ("aligned_alloc", AlignedAllocate),
    ("memalign", AlignedAllocate),
    ("valloc", Allocate),
    ("pvalloc", Allocate),
    ("mallocx", Mallocx),
    ("rallocx", Rallocx),
    ("xallocx", Xallocx),
    ("dallocx", Free),
    ("sdallocx", Free),
    ("nallocx", Nallocx),
];

const MIMALLOC: &[(&str, HookKind)] = &[
    ("mi_malloc", Allocate),
    ("mi_malloc_small", Allocate),
    ("mi_zalloc", AllocateZeroed),
    ("mi_zalloc_small", AllocateZeroed),
    ("mi_calloc", AllocateArrayZeroed),
    ("mi_mallocn", AllocateArray),
    ("mi_malloc_aligned", AllocateAligned),
    ("mi_zalloc_aligned", AllocateAlignedZeroed),
    ("mi_malloc_aligned_at", AllocateAligned),
    ("mi_zalloc_aligned_at", AllocateAlignedZeroed),
    ("mi_calloc_aligned", AllocateArrayZeroed),
    ("mi_aligned_alloc", AlignedAllocate),
    ("mi_memalign", AlignedAllocate),
    ("mi_posix_memalign", PosixMemalign),
    ("mi_valloc", Allocate),
    ("mi_pvalloc", Allocate),
    ("mi_realloc", Resize),
    ("mi_reallocf", Resize),
    ("mi_rezalloc", Resize),
    ("mi_reallocn", ResizeArray),
    ("mi_reallocarray", ResizeArray),
    ("mi_recalloc", ResizeArray),
    ("mi_realloc_aligned", ResizeAligned),
    ("mi_rezalloc_aligned", ResizeAligned),
    ("mi_new", Allocate),
    ("mi_new_nothrow", Allocate),
    ("mi_new_aligned", AllocateAligned),
    ("mi_new_aligned_nothrow", AllocateAligned),
    ("mi_new_n", AllocateArray),
    ("mi_new_realloc", Resize),
    ("mi_new_reallocn", ResizeArray),
    ("mi_free", Free),
    ("mi_cfree", Free),
    ("mi_free_size", Free),
    ("mi_free_size_aligned", Free),
    ("mi_free_aligned", Free),
    ("mi_strdup", Duplicate),
    ("mi_strndup", Duplicate),
    // What a thread has of heaps, and a heap itself, are no blocks of the program.
    ("mi_process_done", Internal),
    ("mi_thread_done", Internal),
    ("_mi_thread_done", Internal),
    ("mi_heap_new", Internal),
    ("mi_heap_new_in_arena", Internal),
    ("mi_heap_new_ex", Internal),
    ("mi_heap_delete", Internal),
    ("mi_heap_destroy", DestroyHeap),
    ("mi_heap_visit_blocks", VisitBlocks),
];

const MIMALLOC_HEAPS: &[&str] = &[
    "mi_heap_new",
    "mi_heap_new_ex",
    "mi_heap_new_in_arena",
    "mi_heap_get_default",
    "mi_heap_get_backing",
    "mi_theap_get_default",
    "mi_heap_malloc",
];

/// Of version 3, heaps of a thread (`theap`) have the most frequent ones only.
const MIMALLOC_OTHERS: &[(&str, HookKind, Arguments)] = &[
    ("mi_calloc_aligned_at", AllocateArrayZeroed, Many),
    ("mi_realloc_aligned_at", ResizeAligned, Many),
    ("mi_rezalloc_aligned_at", ResizeAligned, Many),
    ("mi_recalloc_aligned", ResizeArray, Many),
    ("mi_recalloc_aligned_at", ResizeArray, Many),
    ("mi_heap_malloc", Allocate, BehindHeap),
    ("mi_heap_malloc_small", Allocate, BehindHeap),
    ("mi_heap_zalloc", AllocateZeroed, BehindHeap),
    ("mi_heap_zalloc_small", AllocateZeroed, BehindHeap),
    ("mi_heap_calloc", AllocateArrayZeroed, BehindHeap),
    ("mi_heap_mallocn", AllocateArray, BehindHeap),
    ("mi_heap_malloc_aligned", AllocateAligned, BehindHeap),
    ("mi_heap_malloc_aligned_at", AllocateAligned, BehindHeap),
    ("mi_heap_zalloc_aligned", AllocateAlignedZeroed, BehindHeap),
    ("mi_heap_zalloc_aligned_at", AllocateAlignedZeroed, BehindHeap),
    ("mi_heap_calloc_aligned", AllocateArrayZeroed, BehindHeap),
    ("mi_heap_calloc_aligned_at", AllocateArrayZeroed, BehindHeap),
    ("mi_heap_alloc_new", Allocate, BehindHeap),
    ("mi_heap_alloc_new_n", AllocateArray, BehindHeap),
    ("mi_heap_realloc", Resize, BehindHeap),
    ("mi_heap_reallocf", Resize, BehindHeap),
    ("mi_heap_rezalloc", Resize, BehindHeap),
    ("mi_heap_reallocn", ResizeArray, BehindHeap),
    ("mi_heap_recalloc", ResizeArray, BehindHeap),
    ("mi_heap_realloc_aligned", ResizeAligned, BehindHeap),
    ("mi_heap_realloc_aligned_at", ResizeAligned, BehindHeap),
    ("mi_heap_rezalloc_aligned", ResizeAligned, BehindHeap),
    ("mi_heap_rezalloc_aligned_at", ResizeAligned, BehindHeap),
    ("mi_heap_recalloc_aligned", ResizeArray, BehindHeap),
    ("mi_heap_recalloc_aligned_at", ResizeArray, BehindHeap),
    ("mi_heap_strdup", Duplicate, BehindHeap),
    ("mi_heap_strndup", Duplicate, BehindHeap),
    ("mi_theap_malloc", Allocate, BehindHeap),
    ("mi_theap_malloc_small", Allocate, BehindHeap),
    ("mi_theap_zalloc", AllocateZeroed, BehindHeap),
    ("mi_theap_zalloc_small", AllocateZeroed, BehindHeap),
    ("mi_theap_calloc", AllocateArrayZeroed, BehindHeap),
    ("mi_theap_malloc_aligned", AllocateAligned, BehindHeap),
    ("mi_theap_realloc", Resize, BehindHeap),
];

const SNMALLOC: &[(&str, HookKind)] = &[
    ("sn_rust_alloc", AlignedAllocate),
    ("sn_rust_alloc_zeroed", AlignedAllocateZeroed),
    ("sn_rust_dealloc", Free),
    ("sn_rust_realloc", ResizeFrom),
];

const TCMALLOC: &[(&str, HookKind)] = &[
    ("tc_malloc", Allocate),
    ("tc_malloc_skip_new_handler", Allocate),
    ("tc_calloc", AllocateArrayZeroed),
    ("tc_realloc", Resize),
    ("tc_free", Free),
    ("tc_free_sized", Free),
    ("tc_cfree", Free),
    ("tc_memalign", AlignedAllocate),
    ("tc_posix_memalign", PosixMemalign),
    ("tc_valloc", Allocate),
    ("tc_pvalloc", Allocate),
    ("tc_new", Allocate),
    ("tc_new_nothrow", Allocate),
    ("tc_newarray", Allocate),
    ("tc_newarray_nothrow", Allocate),
    ("tc_new_aligned", AllocateAligned),
    ("tc_new_aligned_nothrow", AllocateAligned),
    ("tc_newarray_aligned", AllocateAligned),
    ("tc_newarray_aligned_nothrow", AllocateAligned),
    ("tc_delete", Free),
    ("tc_delete_sized", Free),
    ("tc_delete_nothrow", Free),
    ("tc_delete_aligned", Free),
    ("tc_delete_aligned_nothrow", Free),
    ("tc_deletearray_aligned_nothrow", Free),
    ("tc_delete_sized_aligned", Free),
    ("tc_deletearray", Free),
    ("tc_deletearray_sized", Free),
    ("tc_deletearray_nothrow", Free),
    ("tc_deletearray_aligned", Free),
    ("tc_deletearray_sized_aligned", Free),
];

/// Google's.
const TCMALLOC_GOOGLE: &[(&str, HookKind)] = &[
    ("TCMallocInternalNew", Allocate),
    ("TCMallocInternalNewNothrow", Allocate),
    ("TCMallocInternalNewAligned", AllocateAligned),
    ("TCMallocInternalNewAlignedNothrow", AllocateAligned),
    ("TCMallocInternalNewArray", Allocate),
    ("TCMallocInternalNewArrayNothrow", Allocate),
    ("TCMallocInternalNewArrayAligned", AllocateAligned),
    ("TCMallocInternalNewArrayAlignedNothrow", AllocateAligned),
    ("TCMallocInternalMalloc", Allocate),
    ("TCMallocInternalCalloc", AllocateArrayZeroed),
    ("TCMallocInternalRealloc", Resize),
    ("TCMallocInternalReallocArray", ResizeArray),
    ("TCMallocInternalMemalign", AlignedAllocate),
    ("TCMallocInternalAlignedAlloc", AlignedAllocate),
    ("TCMallocInternalPosixMemalign", PosixMemalign),
    ("TCMallocInternalValloc", Allocate),
    ("TCMallocInternalPvalloc", Allocate),
    ("TCMallocInternalFree", Free),
    ("TCMallocInternalFreeSized", Free),
    ("TCMallocInternalFreeAlignedSized", Free),
    ("TCMallocInternalCfree", Free),
    ("TCMallocInternalSdallocx", Free),
    ("TCMallocInternalDelete", Free),
    ("TCMallocInternalDeleteAligned", Free),
    ("TCMallocInternalDeleteSized", Free),
    ("TCMallocInternalDeleteSizedAligned", Free),
    ("TCMallocInternalDeleteNothrow", Free),
    ("TCMallocInternalDeleteAlignedNothrow", Free),
    ("TCMallocInternalDeleteArray", Free),
    ("TCMallocInternalDeleteArrayAligned", Free),
    ("TCMallocInternalDeleteArraySized", Free),
    ("TCMallocInternalDeleteArraySizedAligned", Free),
    ("TCMallocInternalDeleteArrayNothrow", Free),
    ("TCMallocInternalDeleteArrayAlignedNothrow", Free),
    // A crate for Rust compiles these together with it.
    ("BridgeTCMallocInternalNewAlignedNothrow", AllocateAligned),
    ("BridgePrepareReallocAligned", PrepareResize),
    ("_Znwm12__hot_cold_t", Allocate),
    ("_ZnwmRKSt9nothrow_t12__hot_cold_t", Allocate),
    ("_ZnwmSt11align_val_t12__hot_cold_t", AllocateAligned),
    ("_ZnwmSt11align_val_tRKSt9nothrow_t12__hot_cold_t", AllocateAligned),
    ("_Znam12__hot_cold_t", Allocate),
    ("_ZnamRKSt9nothrow_t12__hot_cold_t", Allocate),
    ("_ZnamSt11align_val_t12__hot_cold_t", AllocateAligned),
    ("_ZnamSt11align_val_tRKSt9nothrow_t12__hot_cold_t", AllocateAligned),
];

const RPMALLOC: &[(&str, HookKind)] = &[
    ("rpmalloc", Allocate),
    ("rpzalloc", AllocateZeroed),
    ("rpcalloc", AllocateArrayZeroed),
    ("rprealloc", Resize),
    ("rpfree", Free),
    ("rpaligned_alloc", AlignedAllocate),
    ("rpaligned_zalloc", AlignedAllocateZeroed),
    ("rpmemalign", AlignedAllocate),
    ("rpposix_memalign", PosixMemalign),
    ("rpaligned_realloc", RpalignedRealloc),
];

/// Functions by which the C library of a program that is linked statically is known, and what its allocator is called.
pub const STATIC: &[(&str, &str)] = &[("__libc_mallopt", "glibc"), ("__libc_malloc_impl", "musl")];

/// What a recorder has to know of a process beside its blocks: where that is a library, it stands in front of these by their names.
pub const PROCESS: &[(&str, HookKind)] = &[
    ("_Exit", Exit),
    ("_exit", Exit),
    ("pthread_create", ThreadCreate),
    ("pthread_join", ThreadJoin),
    ("pthread_setname_np", ThreadName),
    ("execve", Execve),
    ("execveat", Execveat),
    ("fexecve", Fexecve),
    ("prctl", Prctl),
    ("syscall", SystemCall),
    // When a thread of glibc ends, the blocks that it has kept for itself are freed once more, by `free`.
    ("__malloc_arena_thread_freeres", Internal),
];

/// What the loader calls when it has loaded or unloaded a library.
pub const LOADER: &[(&str, HookKind)] = &[("_dl_debug_state", LoaderChanged)];

/// A function that glibc alone has, as a library.
pub const GLIBC: &str = "gnu_get_libc_version";
/// One that each C library has, as a library.
pub const C_LIBRARY: &str = "__libc_start_main";

/// The functions of the C library, and the operators of C++: entry points where an executable defines them itself, and calls them
/// directly.
pub const C: &[(&str, HookKind)] = &[
    ("malloc", Allocate),
    ("calloc", AllocateArrayZeroed),
    ("realloc", Resize),
    ("reallocarray", ResizeArray),
    ("free", Free),
    ("cfree", Free),
    ("free_sized", Free),
    ("free_aligned_sized", Free),
    ("posix_memalign", PosixMemalign),
    ("aligned_alloc", AlignedAllocate),
    ("memalign", AlignedAllocate),
    ("valloc", Allocate),
    ("pvalloc", Allocate),
    ("_Znwm", Allocate),
    ("_Znam", Allocate),
    ("_ZnwmRKSt9nothrow_t", Allocate),
    ("_ZnamRKSt9nothrow_t", Allocate),
    ("_ZnwmSt11align_val_t", AllocateAligned),
    ("_ZnamSt11align_val_t", AllocateAligned),
    ("_ZnwmSt11align_val_tRKSt9nothrow_t", AllocateAligned),
    ("_ZnamSt11align_val_tRKSt9nothrow_t", AllocateAligned),
    ("_ZdlPv", Free),
    ("_ZdaPv", Free),
    ("_ZdlPvm", Free),
    ("_ZdaPvm", Free),
    ("_ZdlPvRKSt9nothrow_t", Free),
    ("_ZdaPvRKSt9nothrow_t", Free),
    ("_ZdlPvSt11align_val_t", Free),
    ("_ZdaPvSt11align_val_t", Free),
    ("_ZdlPvmSt11align_val_t", Free),
    ("_ZdaPvmSt11align_val_t", Free),
    ("_ZdlPvSt11align_val_tRKSt9nothrow_t", Free),
    ("_ZdaPvSt11align_val_tRKSt9nothrow_t", Free),
];
