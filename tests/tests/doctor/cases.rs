//! Things that a variable or a program brings with it: each on a command and on a process, and not on clean ones.

use crate::ask::{checkup, end, has, has_not, of_process, started, subject};
use heapwise_tests::{programs, run};
use libtest_mimic::Failed;

/// What is looked at.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// The command that would be started, and the process that it is.
    Both,
    /// Only one of them can show it.
    Command,
    Process,
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    check: &'static str,
    severity: &'static str,
    variables: &'static [(&'static str, &'static str)],
    program: &'static str,
    seen: Seen,
}

const fn case(
    name: &'static str,
    check: &'static str,
    severity: &'static str,
    variables: &'static [(&'static str, &'static str)],
) -> Case {
    Case { name, check, severity, variables, program: "subject", seen: Seen::Both }
}

pub(crate) const CASES: &[Case] = &[
    case("malloc_check_in_vain", "malloc-check", "note", &[("MALLOC_CHECK_", "3")]),
    case(
        "malloc_check",
        "malloc-check",
        "medium",
        &[("MALLOC_CHECK_", "3"), ("LD_PRELOAD", "libc_malloc_debug.so.0")],
    ),
    case(
        "malloc_check_by_tunable",
        "malloc-check",
        "medium",
        &[("GLIBC_TUNABLES", "glibc.malloc.check=3"), ("LD_PRELOAD", "libc_malloc_debug.so.0")],
    ),
    case("malloc_perturb", "malloc-perturb", "medium", &[("MALLOC_PERTURB_", "165")]),
    case("perturb_by_tunable", "malloc-perturb", "medium", &[("GLIBC_TUNABLES", "glibc.malloc.perturb=7")]),
    Case {
        program: "subject_threads",
        ..case("arena_max", "arena-max", "low", &[("MALLOC_ARENA_MAX", "1")])
    },
    case("mmap_threshold", "glibc-tunables", "high", &[("MALLOC_MMAP_THRESHOLD_", "4096")]),
    case("no_fast_bins", "glibc-tunables", "medium", &[("GLIBC_TUNABLES", "glibc.malloc.mxfast=0")]),
    case("no_thread_cache", "glibc-tunables", "low", &[("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0")]),
    case("trim_threshold", "glibc-tunables", "low", &[("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=0")]),
    case(
        "huge_pages_of_an_empty_pool",
        "transparent-huge-pages",
        "low",
        &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2")],
    ),
    case("unknown_tunable", "glibc-tunables", "note", &[("GLIBC_TUNABLES", "glibc.malloc.tcache=0")]),
    case("malloc_trace", "malloc-trace", "note", &[("MALLOC_TRACE", "trace.txt")]),
    case(
        "jemalloc_junk",
        "jemalloc-options",
        "medium",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "junk:true")],
    ),
    case(
        "jemalloc_zero",
        "jemalloc-options",
        "low",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "zero:true")],
    ),
    case(
        "jemalloc_no_thread_cache",
        "jemalloc-options",
        "medium",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "tcache:false")],
    ),
    case(
        "jemalloc_redzone",
        "jemalloc-options",
        "note",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "redzone:true")],
    ),
    case(
        "jemalloc_unknown_option",
        "jemalloc-options",
        "note",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("MALLOC_CONF", "dirty_decay:0")],
    ),
    case(
        "jemalloc_wrong_prefix",
        "jemalloc-options",
        "low",
        &[("LD_PRELOAD", "libjemalloc.so.2"), ("_RJEM_MALLOC_CONF", "junk:true")],
    ),
    case("jemalloc_missing", "jemalloc-options", "note", &[("MALLOC_CONF", "junk:true")]),
    case(
        "mimalloc_purge",
        "mimalloc-options",
        "low",
        &[("LD_PRELOAD", "libmimalloc.so.2"), ("MIMALLOC_PURGE_DELAY", "0")],
    ),
    case(
        "mimalloc_unknown_option",
        "mimalloc-options",
        "note",
        &[("LD_PRELOAD", "libmimalloc.so.2"), ("MIMALLOC_PURGE_DELAI", "0")],
    ),
    case(
        "tcmalloc_profile",
        "tcmalloc-options",
        "high",
        &[("LD_PRELOAD", "libtcmalloc.so.4"), ("HEAPPROFILE", "profile")],
    ),
    case(
        "tcmalloc_minimal",
        "tcmalloc-options",
        "low",
        &[("LD_PRELOAD", "libtcmalloc_minimal.so.4"), ("TCMALLOC_AGGRESSIVE_DECOMMIT", "1")],
    ),
    case("tcmalloc_missing", "tcmalloc-options", "note", &[("HEAPCHECK", "normal")]),
    case("tcmalloc_debug", "checking-library", "high", &[("LD_PRELOAD", "libtcmalloc_minimal_debug.so.4")]),
    case("memusage", "checking-library", "medium", &[("LD_PRELOAD", "libmemusage.so")]),
    case(
        "efence",
        "checking-library",
        "high",
        &[("LD_PRELOAD", "libefence.so.0"), ("EF_ALLOW_MALLOC_0", "1"), ("EF_ALIGNMENT", "16")],
    ),
    Case {
        // It fences what heapwise itself allocates as well, with two mappings for each block.
        seen: Seen::Process,
        ..case(
            "duma",
            "checking-library",
            "high",
            &[("LD_PRELOAD", "libduma.so.0"), ("DUMA_ALLOW_MALLOC_0", "1")],
        )
    },
    case("preload_missing", "preload-missing", "low", &[("LD_PRELOAD", "/nowhere/libjemalloc.so.2")]),
    case("python_debug", "runtime-allocator", "medium", &[("PYTHONMALLOC", "debug")]),
    Case { program: "subject_sanitized", ..case("address_sanitizer", "sanitizer", "high", &[]) },
    Case {
        program: "refuses_huge_pages",
        seen: Seen::Process,
        ..case(
            "huge_pages_refused",
            "transparent-huge-pages",
            "low",
            &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")],
        )
    },
    Case {
        program: "many_mappings",
        seen: Seen::Process,
        ..case("mappings", "max-map-count", "medium", &[])
    },
    Case {
        program: "static_executable",
        seen: Seen::Command,
        ..case(
            "preload_into_a_static_executable",
            "own-allocator",
            "low",
            &[("LD_PRELOAD", "libjemalloc.so.2")],
        )
    },
    Case {
        program: "own_malloc_in_executable",
        seen: Seen::Command,
        ..case("preload_beside_own_malloc", "own-allocator", "low", &[("LD_PRELOAD", "libjemalloc.so.2")])
    },
];

pub(crate) fn prepared_and_clean(case: &Case) -> Result<(), Failed> {
    let program = subject(case.program);
    let folder = run::private_folder();
    let at = folder.path();
    let library = case.variables.iter().find(|(name, _)| *name == "LD_PRELOAD").map(|(_, value)| *value);
    if library.is_some_and(|library| !library.contains('/') && programs::library(library).is_none()) {
        return Ok(());
    }
    if case.seen != Seen::Process {
        has(&checkup(at, case.variables, &["--", &program.to_string_lossy()])?, case.check, case.severity)?;
        has_not(&checkup(at, &[], &["--", &subject("subject").to_string_lossy()])?, case.check)?;
    }
    if case.seen != Seen::Command {
        let running = started(at, case.variables, &program, &[]);
        let found = of_process(at, &running).and_then(|checkup| has(&checkup, case.check, case.severity));
        end(running);
        found?;
        let running = started(at, &[], &subject("subject"), &[]);
        let clean = of_process(at, &running).and_then(|checkup| has_not(&checkup, case.check));
        end(running);
        clean?;
    }
    Ok(())
}
