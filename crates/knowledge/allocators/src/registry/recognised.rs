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
        texts: &["Scudo ERROR: "],
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
        also_defines: &["mallocx", "rallocx", "sdallocx"],
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
        // Its library is called `libc.so`, and glibc's `libc.so.6`.
        libraries: &["ld-musl-", "libc.musl-", "libc.so"],
        symbols: &[Exact("__libc_malloc_impl"), Exact("__malloc_donate"), Exact("__expand_heap")],
        ..Family::UNKNOWN
    },
    Family { name: "TBB malloc", symbols: &[Exact("scalable_malloc")], ..Family::UNKNOWN },
    Family { name: "bmalloc", symbols: &[Mangled("N7bmalloc")], ..Family::UNKNOWN },
    Family {
        name: "Boehm GC",
        symbols: &[Exact("GC_malloc"), Exact("GC_gcollect")],
        // Only the library reads it; programs set others, such as GC_INITIAL_HEAP_SIZE.
        texts: &["GC_PRINT_STATS\0"],
        ..runtime("look at it with GC_PRINT_STATS=1; heapwise records the C library's heap only")
    },
    Family {
        name: "Go runtime",
        symbols: &[Exact("runtime.mallocgc")],
        texts: &["runtime.mallocgc\0"],
        ..runtime(
            "look at Go's objects with runtime/pprof; heapwise records what C code (cgo) allocates with malloc",
        )
    },
    Family {
        name: "pymalloc",
        symbols: &[Exact("_PyObject_Malloc"), Exact("PyObject_Malloc")],
        texts: &["pymalloc\0", "pymalloc_debug\0"],
        // It is there from 3.13 on, for builds without the global lock and PYTHONMALLOC=mimalloc.
        brings: &["mimalloc"],
        turned_off_by: Some(("PYTHONMALLOC", "malloc")),
        ..runtime("to record Python's objects, run it with PYTHONMALLOC=malloc")
    },
    Family {
        name: "V8",
        symbols: &[Mangled("2v88internal4Heap"), Mangled("N2v87Isolate")],
        texts: &["max_old_space_size\0"],
        ..runtime(
            "look at the objects of JavaScript with a heap snapshot (node or deno with --inspect; node \
             --heapsnapshot-signal); heapwise records what C and C++ allocate with malloc",
        )
    },
    Family {
        name: "HotSpot",
        symbols: &[Exact("JVM_GC"), Mangled("13CollectedHeap")],
        ..runtime(
            "look at Java's heap with -XX:NativeMemoryTracking=summary and jcmd; heapwise records what C and C++ allocate \
             with malloc",
        )
    },
    Family {
        name: "Zend memory manager",
        symbols: &[Exact("_emalloc"), Exact("start_memory_manager")],
        texts: &["zend_mm_heap corrupted", "USE_ZEND_ALLOC\0"],
        turned_off_by: Some(("USE_ZEND_ALLOC", "0")),
        ..runtime("to record the values of PHP, run it with USE_ZEND_ALLOC=0")
    },
    Family {
        name: "Ruby's object heap",
        symbols: &[Exact("rb_gc_start"), Exact("rb_gc_enable")],
        texts: &["RUBY_GC_HEAP_FREE_SLOTS\0", "RUBY_GC_HEAP_GROWTH_FACTOR\0"],
        ..runtime(
            "look at Ruby's objects with ObjectSpace; heapwise records what lies behind them in malloc's heap",
        )
    },
    Family {
        name: "PyPy's heap",
        symbols: &[Exact("rpython_startup_code"), Exact("pypy_main_startup")],
        ..runtime("look at Python's objects with gc.get_stats() and tracemalloc")
    },
    Family {
        name: "LuaJIT",
        symbols: &[Exact("luaJIT_setmode")],
        texts: &["LuaJIT 2."],
        ..runtime("look at Lua's objects with collectgarbage(\"count\")")
    },
    Family {
        name: ".NET runtime",
        symbols: &[Exact("coreclr_initialize")],
        ..runtime("look at the objects of .NET with dotnet-gcdump")
    },
    Family {
        name: "OCaml runtime",
        symbols: &[Exact("caml_alloc_shr"), Exact("caml_alloc_small_dispatch")],
        ..runtime("look at OCaml's objects with Gc.stat or memtrace")
    },
    Family {
        name: "GHC runtime",
        symbols: &[Exact("hs_init_ghc"), Exact("stg_upd_frame_info")],
        ..runtime("look at Haskell's objects with +RTS -hT")
    },
    Family {
        name: "Erlang runtime",
        symbols: &[Exact("erts_alloc_init")],
        ..runtime("look at Erlang's memory with recon_alloc; +Mea min has it allocate with malloc")
    },
];

/// The heap of a language: what it is for is all the same, and each has its own tool for it.
const fn runtime(unrecorded: &'static str) -> Family {
    Family { is_runtime: true, unrecorded, ..Family::UNKNOWN }
}

const fn sanitizer(name: &'static str, symbols: &'static [crate::family::Sign]) -> Family {
    Family { name, symbols, is_sanitizer: true, ..Family::UNKNOWN }
}
