//! Whose code a frame is: the table of rules behind "the user's nearest frame".

/// What the rules look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameFacts<'a> {
    /// Demangled name of the function.
    pub function: Option<&'a str>,
    /// Path of the source file.
    pub file: Option<&'a str>,
    /// Path of the object file.
    pub module: Option<&'a str>,
}

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// heapwise's own library in the process.
    Recorder,
    /// An allocator, the C library, the loader or the compiler's run-time library.
    System,
    /// The standard library of Rust.
    RustStd,
    /// The standard library of C++.
    CxxStd,
    /// A package that the program depends on.
    Dependency,
    /// What is left: what the user can change.
    User,
}

/// One rule: whatever it matches belongs to its owner. The first rule that matches counts.
struct Rule {
    /// For the tests, which have cases for every rule.
    #[cfg_attr(not(test), expect(dead_code, reason = "names a rule to its readers and tests"))]
    name: &'static str,
    owner: Owner,
    matches: fn(&FrameFacts<'_>) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        name: "recorder-module",
        owner: Owner::Recorder,
        matches: |f| module_is(f, &["libheapwise"]) || module_has(f, "memfd:heapwise"),
    },
    Rule {
        name: "system-module",
        owner: Owner::System,
        matches: |f| {
            const LIBRARIES: &[&str] = &[
                "libc.so",
                "libc-2.",
                "libc.musl",
                "ld-linux",
                "ld-2.",
                "ld-musl",
                "ld.so",
                "libpthread",
                "libdl.so",
                "libdl-2.",
                "librt.so",
                "librt-2.",
                "libm.so",
                "libm-2.",
                "libgcc_s",
                "libstdc++",
                "libc++.so",
                "libc++abi",
                "libunwind",
                "linux-vdso",
                "[vdso]",
                "linux-gate",
            ];
            module_is(f, LIBRARIES)
        },
    },
    Rule {
        name: "allocator-module",
        owner: Owner::System,
        matches: |f| {
            module_is(
                f,
                &[
                    "libjemalloc",
                    "libmimalloc",
                    "libsnmalloc",
                    "libtcmalloc",
                    "librpmalloc",
                    "libhoard",
                    "libasan",
                ],
            )
        },
    },
    Rule {
        name: "allocator-function",
        owner: Owner::System,
        matches: |f| {
            const EXACT: &[&str] = &[
                "malloc",
                "calloc",
                "realloc",
                "free",
                "reallocarray",
                "posix_memalign",
                "aligned_alloc",
                "memalign",
                "valloc",
                "pvalloc",
                "cfree",
                "strdup",
                "strndup",
            ];
            const PREFIXES: &[&str] =
                &["__libc_", "_rjem_", "je_", "_mi_", "mi_", "sn_rust_", "tc_", "rpmalloc"];
            function_is(f, EXACT) || function_starts(f, PREFIXES)
        },
    },
    Rule {
        name: "process-start",
        owner: Owner::System,
        matches: |f| {
            function_is(
                f,
                &[
                    "_start",
                    "__libc_start_main",
                    "__libc_start_call_main",
                    "start_thread",
                    "clone",
                    "clone3",
                    "_dl_start_user",
                ],
            )
        },
    },
    Rule {
        name: "operator-new",
        owner: Owner::CxxStd,
        matches: |f| function_starts(f, &["operator new", "operator delete", "__cxa_"]),
    },
    Rule {
        name: "rust-allocation-shim",
        owner: Owner::RustStd,
        matches: |f| {
            function_starts(f, &["__rust_", "__rdl_", "__rg_", "__rustc::"])
                || function_is(f, &["rust_begin_unwind", "rust_panic"])
        },
    },
    // Packages that the standard library is built from, such as hashbrown; before the folders of std itself.
    Rule { name: "rust-std-dependency-file", owner: Owner::RustStd, matches: |f| file_has(f, "/rust/deps/") },
    Rule {
        name: "rust-std-file",
        owner: Owner::RustStd,
        matches: |f| {
            let library = |part: &str| {
                [
                    "core",
                    "alloc",
                    "std",
                    "proc_macro",
                    "test",
                    "panic_unwind",
                    "backtrace",
                    "portable-simd",
                    "stdarch",
                    "compiler-builtins",
                ]
                .iter()
                .any(|name| part.strip_prefix(*name).is_some_and(|rest| rest.starts_with('/')))
            };
            file_has(f, "/rustc/") && file_has(f, "/library/")
                || f.file.is_some_and(|file| {
                    file.match_indices("library/").any(|(at, m)| {
                        (at == 0 || file[..at].ends_with('/'))
                            && library(&file[at + m.len()..])
                            && file[at..].contains("/src/")
                    })
                })
        },
    },
    Rule {
        name: "cargo-registry-file",
        owner: Owner::Dependency,
        matches: |f| file_has(f, "/.cargo/registry/") || file_has(f, "/registry/src/"),
    },
    Rule {
        name: "cargo-git-file",
        owner: Owner::Dependency,
        matches: |f| file_has(f, "/.cargo/git/") || file_has(f, "/git/checkouts/"),
    },
    Rule {
        name: "cxx-header-file",
        owner: Owner::CxxStd,
        matches: |f| {
            file_has(f, "/include/c++/")
                || file_has(f, "/libstdc++-v3/")
                || f.file.is_some_and(|x| x.contains("/include/") && x.contains("/c++/"))
        },
    },
    // Names decide only where there is no file: a user's file may well hold `impl Clone for Thing`.
    Rule {
        name: "rust-std-name",
        owner: Owner::RustStd,
        matches: |f| {
            const PREFIXES: &[&str] = &[
                "core::",
                "alloc::",
                "<core::",
                "<alloc::",
                "<std::",
                "<&mut core::",
                "<&core::",
                "<&str as ",
                "<str as ",
                "<[T] as ",
                "<&T as ",
                "<T as ",
                "<I as ",
                "<F as ",
                "<&mut F as ",
                "<&mut I as ",
                "compiler_builtins::",
                "hashbrown::",
                "<hashbrown::",
                "rustc_demangle::",
                "gimli::",
                "addr2line::",
                "miniz_oxide::",
            ];
            f.file.is_none() && (function_starts(f, PREFIXES) || is_rust_std_name(f))
        },
    },
    Rule {
        name: "cxx-std-name",
        owner: Owner::CxxStd,
        matches: |f| {
            f.file.is_none() && function_starts(f, &["std::", "__gnu_cxx::", "void std::", "bool std::"])
        },
    },
];

/// Modules of Rust's `std` that C++'s does not have as namespaces.
fn is_rust_std_name(f: &FrameFacts<'_>) -> bool {
    const MODULES: &[&str] = &[
        "alloc",
        "backtrace",
        "collections",
        "env",
        "ffi",
        "fs",
        "io",
        "net",
        "os",
        "panic",
        "panicking",
        "path",
        "process",
        "rt",
        "sync",
        "sys",
        "sys_common",
        "thread",
        "time",
    ];
    let rest = f.function.and_then(|name| name.strip_prefix("std::"));
    rest.is_some_and(|rest| MODULES.iter().any(|m| rest.strip_prefix(m).is_some_and(|r| r.starts_with("::"))))
}

fn module_is(f: &FrameFacts<'_>, starts: &[&str]) -> bool {
    let name = f.module.map(|m| m.rsplit('/').next().unwrap_or(m));
    name.is_some_and(|name| starts.iter().any(|s| name.starts_with(s)))
}

fn module_has(f: &FrameFacts<'_>, part: &str) -> bool {
    f.module.is_some_and(|m| m.contains(part))
}

fn function_is(f: &FrameFacts<'_>, names: &[&str]) -> bool {
    f.function.is_some_and(|function| names.contains(&function))
}

fn function_starts(f: &FrameFacts<'_>, starts: &[&str]) -> bool {
    f.function.is_some_and(|function| starts.iter().any(|s| function.starts_with(s)))
}

fn file_has(f: &FrameFacts<'_>, part: &str) -> bool {
    f.file.is_some_and(|file| file.contains(part))
}

/// Whose code a frame is, by the first rule that matches.
pub fn owner_of(facts: &FrameFacts<'_>) -> Owner {
    RULES.iter().find(|rule| (rule.matches)(facts)).map_or(Owner::User, |rule| rule.owner)
}

/// Which of the frames of a stack, innermost first, to show to the user as the place of an allocation.
///
/// The first one that the user wrote. Without any: the first in a program (not a shared library) that is not the
/// allocator's; else the first that is neither the allocator's nor the system's; else the innermost one that is not
/// heapwise's. `None` for a stack without such a frame.
pub fn nearest_frame<'a>(frames: impl Iterator<Item = (FrameFacts<'a>, Owner)> + Clone) -> Option<usize> {
    let first = |wanted: fn(&FrameFacts<'a>, Owner) -> bool| {
        frames.clone().position(|(facts, owner)| wanted(&facts, owner))
    };
    first(|f, owner| {
        owner == Owner::User && (f.function.is_some() || f.module.is_some_and(|m| !m.contains(".so")))
    })
    .or_else(|| first(|_, owner| owner == Owner::User))
    .or_else(|| first(|f, owner| !is_plumbing(owner) && f.module.is_some_and(|m| !m.contains(".so"))))
    .or_else(|| first(|_, owner| !is_plumbing(owner)))
    .or_else(|| first(|_, owner| owner != Owner::Recorder))
}

fn is_plumbing(owner: Owner) -> bool {
    matches!(owner, Owner::Recorder | Owner::System)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each rule must match (`function | file | module`), and what looks alike and is not its.
    const CASES: &[(&str, &[&str], &[&str])] = &[
        (
            "recorder-module",
            &["malloc||/tmp/libheapwise_preload.so", "||/memfd:heapwise-preload (deleted)"],
            &["||/usr/bin/heapwise-user"],
        ),
        (
            "system-module",
            &[
                "qsort||/lib/x86_64-linux-gnu/libc.so.6",
                "||/lib64/ld-linux-x86-64.so.2",
                "||/usr/lib/libstdc++.so.6",
                "||/lib/libgcc_s.so.1",
                "||/lib/libpthread.so.0",
            ],
            &["||/usr/lib/libcurl.so.4", "||/usr/lib/libcairo.so.2"],
        ),
        (
            "allocator-module",
            &["||/opt/libjemalloc.so.2", "||/usr/lib/libmimalloc.so"],
            &["||/usr/lib/libjson.so"],
        ),
        (
            "allocator-function",
            &["_rjem_je_malloc||/a/app", "mi_malloc|/a/alloc.c|/a/app", "calloc||/a/app"],
            &["my_malloc||/a/app", "mine||/a/app"],
        ),
        ("process-start", &["_start||/a/app", "start_thread||/a/app"], &["main||/a/app"]),
        ("operator-new", &["operator new(unsigned long)||/a/app"], &["operator==(Foo)||/a/app"]),
        (
            "rust-allocation-shim",
            &["__rust_alloc||/a/app", "__rustc::__rust_alloc||/a/app"],
            &["rust_alloc||/a/app"],
        ),
        (
            "rust-std-dependency-file",
            &["x|/rust/deps/hashbrown-0.15.2/src/raw/mod.rs|/a/app"],
            &["x|/home/u/rust/dep/a.rs|/a/app"],
        ),
        (
            "rust-std-file",
            &[
                "x|/rustc/59807616e/library/alloc/src/vec/mod.rs|/a/app",
                "x|/home/u/.rustup/toolchains/s/lib/rustlib/src/rust/library/core/src/ops.rs|/a/app",
                "x|library/std/src/rt.rs|/a/app",
                "x|/usr/src/rustc-1.63.0/library/core/src/a.rs|/a/app",
            ],
            &["x|/home/u/library/src/main.rs|/a/app", "x|/home/u/library/stdx/src/a.rs|/a/app"],
        ),
        (
            "cargo-registry-file",
            &[
                "x|/home/u/.cargo/registry/src/index.crates.io-1/serde-1.0.0/src/lib.rs|/a/app",
                "x|/usr/local/cargo/registry/src/i/s/lib.rs|/a/app",
            ],
            &["x|/home/u/registry/lib.rs|/a/app"],
        ),
        (
            "cargo-git-file",
            &["x|/home/u/.cargo/git/checkouts/serde-1/abc/src/lib.rs|/a/app"],
            &["x|/home/u/git/serde/src/lib.rs|/a/app"],
        ),
        (
            "cxx-header-file",
            &[
                "std::vector<int>::push_back|/usr/include/c++/12/bits/stl_vector.h|/a/app",
                "x|/usr/include/x86_64-linux-gnu/c++/12/bits/gthr.h|/a/app",
            ],
            &["std::hash<Foo>::operator()|/home/u/foo.h|/a/app"],
        ),
        (
            "rust-std-name",
            &[
                "alloc::vec::Vec<T>::push||/a/app",
                "<alloc::string::String as core::clone::Clone>::clone||/a/app",
                "std::thread::Builder::spawn||/a/app",
                "<T as core::convert::Into<U>>::into||/a/app",
            ],
            &[
                "<app::Thing as core::clone::Clone>::clone||/a/app",
                "app::core::run||/a/app",
                "core::thing|/home/u/src/core.rs|/a/app",
            ],
        ),
        (
            "cxx-std-name",
            &[
                "std::__cxx11::basic_string<char>::_M_create||/a/app",
                "__gnu_cxx::new_allocator<int>::allocate||/a/app",
            ],
            &["mystd::run||/a/app"],
        ),
    ];

    fn facts(case: &str) -> FrameFacts<'_> {
        let mut parts = case.split('|').map(|p| (!p.is_empty()).then_some(p));
        FrameFacts {
            function: parts.next().flatten(),
            file: parts.next().flatten(),
            module: parts.next().flatten(),
        }
    }

    #[test]
    fn each_rule_matches_its_cases_and_not_their_lookalikes() {
        for rule in RULES {
            let case = CASES.iter().find(|c| c.0 == rule.name);
            let (_, yes, no) = case.unwrap_or_else(|| panic!("rule {} has no case", rule.name));
            for case in *yes {
                assert!((rule.matches)(&facts(case)), "{} does not match {case}", rule.name);
                assert_eq!(owner_of(&facts(case)), rule.owner, "{case}");
            }
            for case in *no {
                assert!(!(rule.matches)(&facts(case)), "{} matches {case}", rule.name);
                assert_eq!(owner_of(&facts(case)), Owner::User, "{case}");
            }
        }
        assert_eq!(RULES.len(), CASES.len());
    }

    fn nearest(stack: &[&str]) -> Option<usize> {
        let frames: Vec<_> = stack.iter().map(|s| facts(s)).map(|f| (f, owner_of(&f))).collect();
        nearest_frame(frames.iter().copied())
    }

    #[test]
    fn the_nearest_frame_is_the_users_or_the_best_there_is() {
        let (malloc, start) = ("malloc||/x/libheapwise.so", "_start||/a/app");
        let push = "alloc::vec::Vec<T>::push||/a/app";
        let serde = "serde::de|/home/u/.cargo/registry/src/i/serde/src/de.rs|/a/app";
        assert_eq!(nearest(&[malloc, push, serde, "app::main|/u/src/main.rs|/a/app", start]), Some(3));
        assert_eq!(nearest(&[malloc, push, start]), Some(1), "the program's own frame although it is std's");
        assert_eq!(nearest(&[malloc, "qsort||/lib/libc.so.6"]), Some(1));
        assert_eq!(
            nearest(&[malloc, "||/usr/lib/libfoo.so", "main||/a/app"]),
            Some(2),
            "a name is better than none"
        );
        assert_eq!(nearest(&[malloc]), None);
        assert_eq!(nearest(&[]), None);
    }
}
