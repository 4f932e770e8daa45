//! Allocation wrappers by their names: a program's or a library's own `malloc`.
//!
//! A stack that ends in `xmalloc` says nothing: every block of the program is from there. So a wrapper is passed over to
//! whoever called it, and stays as "via". This is the only file with their names; those that are not in it are known by
//! how they are called (`shape.rs`).

use super::copies::last_part;

/// What a wrapper is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrapperKind {
    /// Memory: `xmalloc`.
    Memory,
    /// A copy of something that exists: `xstrdup`.
    Copy,
    /// Text that is put together: `xasprintf`.
    Text,
}

/// Wrappers of one origin that begin alike. The lists are separated by spaces; an empty prefix is for whole names.
struct Family {
    prefix: &'static str,
    memory: &'static str,
    copies: &'static str,
    texts: &'static str,
}

/// What the C library calls it, behind some prefix.
const C_MEMORY: &str = "alloc malloc calloc realloc zalloc mallocz malloc0 callocz reallocarray recalloc reallocf \
                        malloc_array mallocarray calloc_array memalign posix_memalign aligned_alloc";
const C_COPIES: &str = "strdup strndup memdup memndup wcsdup";
const C_TEXTS: &str = "asprintf vasprintf";

/// Those whose wrappers are called as in the C library.
const fn c(prefix: &'static str) -> Family {
    Family { prefix, memory: C_MEMORY, copies: C_COPIES, texts: C_TEXTS }
}

const fn memory(prefix: &'static str, memory: &'static str) -> Family {
    Family { prefix, memory, copies: "", texts: "" }
}

const fn copies(prefix: &'static str, copies: &'static str) -> Family {
    Family { prefix, memory: "", copies, texts: "" }
}

const fn texts(prefix: &'static str, texts: &'static str) -> Family {
    Family { prefix, memory: "", copies: "", texts }
}

const FAMILIES: &[Family] = &[
    // GNU (gnulib, gcc, binutils), OpenSSH, tmux, git and most others.
    c("x"),
    memory("x", "nmalloc nrealloc palloc charalloc alignalloc 2realloc 2nrealloc mallocarray multimalloc"),
    copies("x", "memdup0 memdupz strdup_or_null strdup0"),
    c("xi"),
    c("rpl_"),
    c("__rpl_"),
    memory("", "imalloc icalloc irealloc ireallocarray zalloc mallocz malloc0 malloc_multiply"),
    copies("", "memdup memdup_multiply memdup_suffix0 strdup0"),
    // BSD, PHP, Plan 9.
    c("e"),
    c("_e"),
    c("_safe_e"),
    c("_fe"),
    c("_safe_fe"),
    memory("_safe_", "malloc realloc"),
    c("__zend_"),
    // Generic.
    c("safe_"),
    c("safe"),
    c("checked_"),
    c("must_"),
    c("ck_"),
    c("ck"),
    c("do_x"),
    // git.
    memory("do_x", "mallocz"),
    memory("x", "mallocz_gently"),
    c("git__"),
    memory("git__", "mallocarray reallocarray"),
    copies("git__", "substrdup"),
    // GLib.
    memory(
        "g_",
        "malloc malloc0 malloc_n malloc0_n realloc realloc_n try_malloc try_malloc0 try_malloc_n try_malloc0_n \
         try_realloc try_realloc_n aligned_alloc aligned_alloc0 slice_alloc slice_alloc0",
    ),
    copies("g_", "memdup memdup2 strdup strndup slice_copy"),
    texts("g_", "strdup_printf strdup_vprintf vasprintf"),
    // Python.
    memory("PyMem_", "Malloc Calloc Realloc RawMalloc RawCalloc RawRealloc"),
    memory("_PyMem_", "Malloc Calloc Realloc RawMalloc RawCalloc RawRealloc"),
    memory("_PyMem_Debug", "Malloc Calloc Realloc RawAlloc RawMalloc RawCalloc RawRealloc"),
    copies("_PyMem_", "Strdup RawStrdup RawWcsdup"),
    memory("PyObject_", "Malloc Calloc Realloc"),
    memory(
        "_PyObject_",
        "Malloc Calloc Realloc New NewVar GC_Malloc GC_Calloc GC_Alloc GC_New GC_NewVar GC_Resize",
    ),
    memory("", "pymalloc_alloc allocate_from_new_pool gc_alloc"),
    memory("", "PyType_GenericAlloc _PyType_AllocNoTrack"),
    // NumPy, and by what it makes every array.
    memory("PyDataMem_", "NEW NEW_ZEROED RENEW UserNEW UserNEW_ZEROED UserRENEW"),
    memory("npy_alloc_", "cache cache_zero cache_dim"),
    memory(
        "PyArray_",
        "New NewFromDescr NewFromDescr_int NewFromDescrAndBase NewLikeArray NewLikeArrayWithShape Empty Empty_int Zeros \
         Zeros_int",
    ),
    // Postgres.
    memory(
        "",
        "palloc palloc0 palloc_extended palloc_aligned repalloc repalloc0 repalloc_extended repalloc_huge",
    ),
    copies("", "pstrdup pnstrdup pchomp"),
    texts("", "psprintf pvsnprintf"),
    memory("MemoryContext", "Alloc AllocZero AllocZeroAligned AllocExtended AllocAligned AllocHuge"),
    copies("MemoryContext", "Strdup"),
    memory("AllocSet", "Alloc AllocLarge AllocFromNewBlock Realloc ContextCreate ContextCreateInternal"),
    memory("", "GenerationAlloc GenerationRealloc SlabAlloc BumpAlloc DynaHashAlloc guc_malloc guc_realloc"),
    c("pg_"),
    memory("pg_", "malloc_internal malloc_extended"),
    copies("guc_", "strdup"),
    // SQLite.
    memory("sqlite3_", "malloc malloc64 realloc realloc64"),
    texts("sqlite3_", "mprintf vmprintf"),
    memory(
        "sqlite3",
        "Malloc MallocZero MemMalloc MemRealloc Realloc DbMallocRaw DbMallocRawNN DbMallocRawNNTyped DbMallocZero \
         DbRealloc DbReallocOrFree PageMalloc",
    ),
    // By what values and texts of SQL grow.
    memory("sqlite3", "VdbeMemGrow VdbeMemClearAndResize StrAccumEnlarge StrAccumEnlargeIfNeeded"),
    copies("sqlite3", "DbStrDup DbStrNDup DbSpanDup"),
    texts("sqlite3", "MPrintf VMPrintf"),
    memory("", "mallocWithAlarm dbMallocRawFinish dbReallocFinish pcache1Alloc"),
    // FFmpeg.
    c("av_"),
    memory(
        "av_",
        "mallocz_array realloc_f realloc_array reallocp reallocp_array fast_malloc fast_mallocz fast_realloc \
         fast_padded_malloc fast_padded_mallocz",
    ),
    memory("", "ff_fast_malloc fast_malloc"),
    memory("av_buffer_", "alloc allocz realloc pool_get"),
    // OpenSSL, LibreSSL, BoringSSL.
    c("CRYPTO_"),
    c("OPENSSL_"),
    memory("CRYPTO_", "clear_realloc secure_malloc secure_zalloc aligned_alloc"),
    // apr, nginx, Redis, HAProxy.
    memory("apr_", "palloc pcalloc palloc_debug pcalloc_debug allocator_alloc"),
    copies("apr_", "pstrdup pstrndup pstrmemdup pmemdup"),
    texts("apr_", "psprintf pvsprintf"),
    memory(
        "ngx_",
        "alloc calloc memalign palloc pnalloc pcalloc pmemalign palloc_small palloc_block palloc_large",
    ),
    c("z"),
    memory("ztry", "malloc calloc realloc malloc_usable malloc_usable_internal calloc_usable realloc_usable"),
    memory("z", "malloc_usable calloc_usable realloc_usable calloc_num shcalloc halloc"),
    // Strings of Redis, which other programs have, too.
    memory(
        "",
        "_sdsnewlen sdsnewlen sdstrynewlen _sdsMakeRoomFor sdsMakeRoomFor sdsMakeRoomForNonGreedy sdsResize",
    ),
    copies("sds", "new dup"),
    texts("sds", "catvprintf catprintf catfmt"),
    // Arrays of tree-sitter, older and newer, and of stb.
    memory("array__", "reserve grow splice assign"),
    memory("_array__", "reserve grow splice assign"),
    memory("stbds_", "arrgrowf"),
    // Interpreters.
    memory("Perl_safesys", "malloc calloc realloc"),
    memory("Perl_", "sv_grow sv_grow_fresh more_sv more_bodies av_extend av_extend_guts newSV"),
    copies("Perl_", "savepv savepvn savesvpv"),
    memory("ruby_x", "malloc malloc2 calloc realloc realloc2"),
    memory("objspace_x", "malloc0 calloc realloc"),
    memory("rb_", "alloc_tmp_buffer gc_impl_malloc gc_impl_calloc gc_impl_realloc"),
    memory(
        "",
        "l_alloc luaM_malloc_ luaM_realloc_ luaM_saferealloc_ luaM_growaux_ luaC_newobj luaC_newobjdt lj_mem_realloc lj_mem_newgco lj_mem_grow",
    ),
    memory("", "zend_mm_alloc zend_mm_alloc_huge zend_mm_chunk_alloc"),
    memory("caml_stat_", "alloc alloc_noexc alloc_aligned_noexc calloc_noexc resize resize_noexc"),
    copies("caml_stat_", "strdup strdup_noexc memdup wcsdup"),
    texts("caml_stat_", "strconcat"),
    memory("stg", "MallocBytes CallocBytes ReallocBytes MallocAlignedBytes"),
    memory("R_chk_", "calloc realloc"),
    memory(
        "Tcl",
        "_Alloc _Realloc _AttemptAlloc _AttemptRealloc _DbCkalloc _DbCkrealloc pAlloc pRealloc pSysAlloc",
    ),
    // GCC's own heap, which is collected.
    memory("ggc_", "internal_alloc internal_cleared_alloc realloc"),
    // Libraries.
    c("uv__"),
    c("SDL_"),
    memory("SDL_", "malloc_REAL calloc_REAL realloc_REAL"),
    c("jsonp_"),
    copies("jsonp_", "strndup"),
    memory("cJSON_", "malloc"),
    memory("xmlMem", "Malloc Realloc"),
    memory("xml", "MallocLoc ReallocLoc MallocAtomicLoc"),
    copies("xml", "Strdup Strndup MemStrdup MemStrdupLoc MemoryStrdup CharStrdup"),
    copies("prvTidytmb", "strdup strndup"),
    c("curl_dbg_"),
    memory("Curl_", "saferealloc"),
    copies("Curl_", "memdup memdup0 strndup"),
    memory("lzma_", "alloc alloc_zero"),
    memory("ZSTD_custom", "Malloc Calloc"),
    memory("", "default_bzalloc default_malloc expat_malloc expat_realloc"),
    memory("_cairo_", "malloc_ab malloc_abc malloc_ab_plus_c realloc_ab"),
    memory("Xt", "Malloc Calloc Realloc MallocArray ReallocArray"),
    memory("XNF", "alloc calloc realloc callocarray reallocarray"),
    c("talloc_"),
    c("_talloc_"),
    memory("_talloc_", "zero array zero_array realloc_array named_const"),
    memory("", "talloc_named talloc_named_const talloc_size __talloc __talloc_with_prefix"),
    memory("bfd_", "malloc zmalloc realloc malloc2 realloc2 alloc alloc2 zalloc"),
    memory("ber_mem", "alloc alloc_x calloc calloc_x realloc realloc_x"),
    // ImageMagick, GDAL, HDF5, Mesa.
    memory("Acquire", "MagickMemory QuantumMemory AlignedMemory CriticalMemory VirtualMemory"),
    memory("Resize", "MagickMemory QuantumMemory"),
    copies("", "AcquireString CloneString ConstantString"),
    memory("VSI", "Malloc Calloc Realloc Malloc2 Malloc3 MallocVerbose CallocVerbose ReallocVerbose"),
    memory("CPL", "Malloc Calloc Realloc"),
    copies("", "VSIStrdup CPLStrdup"),
    memory("H5MM_", "malloc calloc realloc"),
    copies("H5MM_", "strdup strndup xstrdup"),
    memory("", "ralloc_size rzalloc_size reralloc_size ralloc_array_size rzalloc_array_size"),
    copies("ralloc_", "strdup strndup memdup"),
    texts("ralloc_", "asprintf vasprintf"),
    memory("", "_obstack_newchunk _obstack_begin call_chunkfun"),
    memory("", "lalloc alloc_clear lisp_malloc lmalloc lrealloc"),
    copies("vim_", "strsave strnsave memsave"),
];

/// Functions of C++, with their namespaces.
const CXX: &[&str] = &[
    "llvm::safe_malloc",
    "llvm::safe_calloc",
    "llvm::safe_realloc",
    "llvm::allocate_buffer",
    "folly::checkedMalloc",
    "folly::checkedCalloc",
    "folly::checkedRealloc",
    "folly::smartRealloc",
    "node::Malloc",
    "node::Calloc",
    "node::Realloc",
    "node::UncheckedMalloc",
    "node::UncheckedCalloc",
    "node::UncheckedRealloc",
    "v8::internal::AllocWithRetry",
    "v8::internal::AlignedAllocWithRetry",
    "v8::base::Malloc",
    "v8::base::Realloc",
    "memory::allocate",
    "memory::reallocate",
    "os::malloc",
    "os::realloc",
    "AllocateHeap",
    "ReallocateHeap",
    "QArrayData::allocate",
    "QArrayData::allocate1",
    "QArrayData::allocate2",
    "QArrayData::reallocateUnaligned",
    "absl::base_internal::LowLevelAlloc::Alloc",
    "arrow::AllocateBuffer",
    "arrow::AllocateResizableBuffer",
    "arrow::BufferBuilder::Finish",
    "arrow::BufferBuilder::Resize",
    "arrow::PoolBuffer::Reserve",
    "arrow::PoolBuffer::Resize",
];

/// Class templates of which each function is one.
const CXX_TEMPLATES: &[&str] = &["arrow::BaseMemoryPoolImpl<"];

/// What a function wraps, if it is known as an allocation wrapper.
pub fn wrapper_kind(function: &str) -> Option<WrapperKind> {
    let name = plain(function);
    if function.contains("::") {
        let path = name.split('(').next().unwrap_or(name);
        let is_class_new = path.ends_with("::operator new") || path.ends_with("::operator new[]");
        let is_of_template = CXX_TEMPLATES.iter().any(|class| name.starts_with(class));
        return (is_class_new || is_of_template || CXX.contains(&path)).then_some(WrapperKind::Memory);
    }
    // What cgo makes of `C.malloc`, with a hash in the middle.
    if name.starts_with("_cgo_") && name.ends_with("_Cfunc__Cmalloc") {
        return Some(WrapperKind::Memory);
    }
    // What is compiled as C++ has its arguments behind the name.
    let name = name.split('(').next().unwrap_or(name);
    FAMILIES.iter().find_map(|family| {
        let rest = name.strip_prefix(family.prefix)?;
        let is_in = |list: &str| list.split_ascii_whitespace().any(|name| name == rest);
        match () {
            () if is_in(family.memory) => Some(WrapperKind::Memory),
            () if is_in(family.copies) => Some(WrapperKind::Copy),
            () if is_in(family.texts) => Some(WrapperKind::Text),
            () => None,
        }
    })
}

/// Whether a name ends like that of a function of the C library which allocates: `my_malloc`. That is no proof, since a
/// test of an allocator has such names as well; how the function is called has to agree.
pub(crate) fn sounds_like_one(function: &str) -> bool {
    const ENDINGS: [&str; 9] =
        ["malloc", "calloc", "realloc", "zalloc", "mallocz", "malloc0", "strdup", "strndup", "memdup"];
    let name = plain(function).to_ascii_lowercase();
    !name.contains("::") && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The same of a function of Rust, by the last part of its path: `Buffer<T>::try_allocate`.
pub(crate) fn sounds_like_one_of_rust(function: &str) -> bool {
    const NAMES: &str = "alloc allocate try_alloc try_allocate raw_alloc do_alloc alloc_zeroed allocate_zeroed alloc_layout allocate_layout \
                         alloc_bytes allocate_bytes alloc_raw allocate_raw alloc_inner allocate_inner alloc_ptr allocate_ptr";
    let mut function = function;
    while let Some((around, closure)) = function.rsplit_once("::")
        && closure.starts_with('{')
    {
        function = around;
    }
    NAMES.split_ascii_whitespace().any(|known| known == last_part(function))
}

/// A name without what compilers append to copies of a function (`.constprop.0`, `.part.1`).
fn plain(function: &str) -> &str {
    function.split('.').next().filter(|name| !name.is_empty()).unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_of_many_projects_are_known() {
        let memory = [
            "xmalloc",
            "xcalloc.constprop.0",
            "x2nrealloc",
            "xpalloc",
            "do_xmalloc",
            "xmallocz_gently.part.0",
            "g_malloc0_n",
            "g_slice_alloc",
            "PyMem_RawMalloc",
            "_PyMem_RawMalloc",
            "_PyObject_GC_NewVar",
            "palloc0",
            "MemoryContextAllocZeroAligned",
            "AllocSetAlloc",
            "pg_malloc0",
            "sqlite3DbMallocRawNN",
            "sqlite3_malloc64",
            "sqlite3VdbeMemGrow",
            "luaC_newobj",
            "ggc_internal_alloc(unsigned long, void (*)(void*), unsigned long, unsigned long)",
            "memory::allocate(unsigned long)",
            "av_mallocz",
            "av_buffer_pool_get",
            "_safe_malloc",
            "_femalloc",
            "_safe_femalloc",
            "av_fast_padded_malloc",
            "CRYPTO_zalloc",
            "ngx_pcalloc",
            "apr_palloc",
            "ztrymalloc_usable_internal",
            "sdsMakeRoomFor",
            "PyDataMem_UserNEW_ZEROED",
            "Perl_sv_grow",
            "PyArray_NewFromDescr_int",
            "arrow::PoolBuffer::Resize(long, bool)",
            "arrow::BaseMemoryPoolImpl<arrow::(anonymous namespace)::MimallocAllocator>::Allocate(long)",
            "_array__reserve",
            "emalloc",
            "safe_malloc",
            "uv__malloc",
            "_cgo_6cc2654a8ed3_Cfunc__Cmalloc",
            "Thing::operator new(unsigned long)",
            "llvm::safe_malloc(unsigned long)",
            "caml_stat_calloc_noexc",
            "AcquireQuantumMemory",
            "CPLMalloc",
        ];
        for name in memory {
            assert_eq!(wrapper_kind(name), Some(WrapperKind::Memory), "{name}");
        }
        for name in [
            "xstrdup",
            "sdsdup",
            "xmemdupz",
            "g_strdup",
            "pstrdup",
            "sqlite3DbStrDup",
            "av_strdup",
            "vim_strsave",
            "prvTidytmbstrndup",
            "AcquireString",
        ] {
            assert_eq!(wrapper_kind(name), Some(WrapperKind::Copy), "{name}");
        }
        for name in ["xasprintf", "g_strdup_printf", "psprintf", "sqlite3_mprintf", "caml_stat_strconcat"] {
            assert_eq!(wrapper_kind(name), Some(WrapperKind::Text), "{name}");
        }
    }

    #[test]
    fn what_looks_alike_is_none() {
        let others = [
            "main",
            "x",
            "",
            "xml_parse",
            "test_xmalloc",
            "xmalloc_test",
            "list_resize",
            "g_hash_table_insert",
            "PyList_New",
            "PyObject_Call",
            "my_malloc",
            "parse_alloc",
            "app::xmalloc",
            "<app::Thing as core::clone::Clone>::clone",
            "std::vector<int>::operator=(std::vector<int> const&)",
        ];
        for name in others {
            assert_eq!(wrapper_kind(name), None, "{name}");
        }
    }

    #[test]
    fn names_sound_like_wrappers_by_their_end() {
        assert!(
            ["my_malloc", "ut_zalloc", "FooRealloc", "my_strdup.part.0"].into_iter().all(sounds_like_one)
        );
        assert!(!["malloc_usable", "allocate", "parse", "", "app::malloc"].into_iter().any(sounds_like_one));
    }

    #[test]
    fn names_of_rust_sound_like_wrappers_by_the_last_part() {
        let likely = [
            "try_allocate",
            "allocate<u8>",
            "boa_string::SequenceString<T>::allocate",
            "<app::Pool as app::Source<u8>>::alloc",
            "app::alloc_bytes::<app::Kind>::{closure#0}",
            "app::alloc_bytes::{{closure}}::{{closure}}",
        ];
        assert!(likely.into_iter().all(sounds_like_one_of_rust));
        let others = [
            "app::allocate::Plan::new",
            "app::allocated",
            "main",
            "",
            "app::reallocate",
            "Vec<alloc::Global>::push",
            "app::push::<app::alloc>",
            "{closure#0}",
        ];
        assert!(!others.into_iter().any(sounds_like_one_of_rust));
    }
}
