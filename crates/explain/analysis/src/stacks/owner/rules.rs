//! The table of rules: what gives away whose code a frame is.

use super::package::{is_fetched, is_installed, is_interpreter, is_of_collections};
use super::wrappers::wrapper_kind;
use super::{FrameFacts, Owner};

/// One rule: whatever it matches belongs to its owner. The first rule that matches counts.
pub(super) struct Rule {
    /// For the tests, which have cases for every rule.
    #[cfg_attr(not(test), expect(dead_code, reason = "names a rule to its readers and tests"))]
    pub(super) name: &'static str,
    pub(super) owner: Owner,
    pub(super) matches: fn(&FrameFacts<'_>) -> bool,
}

/// All rules, in the order in which they are tried.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "recorder-module",
        owner: Owner::Recorder,
        matches: |f| module_is(f, &["libheapwise"]) || module_has(f, "memfd:heapwise"),
    },
    // The wrapper in a program that records itself. Inlined functions may have lost their paths, so files count, too.
    Rule {
        name: "recorder-in-program",
        owner: Owner::Recorder,
        matches: |f| {
            const FILES: &[&str] = &["/src/allocator.rs", "/src/record/", "/src/wrapped.rs"];
            let names = ["heapwise::allocator::", "heapwise::record::", "heapwise_recorder::"];
            let by_name = f.function.is_some_and(|function| {
                let function = function.strip_prefix('<').unwrap_or(function);
                names.iter().any(|name| function.starts_with(name))
            });
            // The package's folder may have a version behind its name.
            let by_file = f.file.is_some_and(|file| {
                FILES.iter().any(|part| {
                    file.split_once(part).is_some_and(|(folder, _)| {
                        let package = folder.rsplit('/').next().unwrap_or_default();
                        let name = package.split_once("-0.").map_or(package, |(name, _)| name);
                        // Heapwise's own sources have folders without the package's name.
                        matches!(name, "heapwise" | "heapwise-recorder")
                            || folder.ends_with("/record/recorder")
                    })
                })
            });
            by_name || by_file
        },
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
    // Of programs that recorded themselves, on Windows (or Wine) and macOS.
    Rule {
        name: "foreign-system-module",
        owner: Owner::System,
        matches: |f| {
            const LIBRARIES: &[&str] = &[
                "ntdll.dll",
                "kernel32.dll",
                "kernelbase.dll",
                "msvcrt.dll",
                "ucrtbase.dll",
                "vcruntime",
                "libsystem_",
                "libdyld.dylib",
                "dyld",
            ];
            let name = f.module.map(|m| m.rsplit(['/', '\\']).next().unwrap_or(m).to_ascii_lowercase());
            name.is_some_and(|name| LIBRARIES.iter().any(|library| name.starts_with(library)))
        },
    },
    Rule {
        name: "allocator-module",
        owner: Owner::System,
        matches: |f| {
            let file = f.module.map(|module| module.rsplit('/').next().unwrap_or(module));
            file.is_some_and(|file| heapwise_allocators::by_library(file).is_some())
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
            function_is(f, EXACT) || f.function.is_some_and(heapwise_allocators::is_function)
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
                    "mainCRTStartup",
                    "WinMainCRTStartup",
                    "__tmainCRTStartup",
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
    // Whoever wrote it: a program's own `xmalloc` is as little the place of an allocation as a library's.
    Rule {
        name: "allocation-wrapper",
        owner: Owner::Wrapper,
        matches: |f| f.function.is_some_and(|function| wrapper_kind(function).is_some()),
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
    // A program's own allocator, or a crate's that counts: everything comes through it. Behind the rules of std, which has such a function of `System`.
    Rule {
        name: "rust-global-allocator",
        owner: Owner::Wrapper,
        matches: |f| {
            f.function.is_some_and(|function| {
                let is_one = function.contains(" as core::alloc::global::GlobalAlloc>::");
                is_one && function.starts_with('<') && !function.starts_with("<std::")
            })
        },
    },
    Rule {
        name: "rust-collections-file",
        owner: Owner::RustStd,
        matches: |f| f.file.is_some_and(is_of_collections),
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
    Rule { name: "fetched-file", owner: Owner::Dependency, matches: |f| f.file.is_some_and(is_fetched) },
    // Templates and inlined functions of installed libraries, which allocate for whoever uses them as those of the standard
    // library do.
    Rule {
        name: "system-header-file",
        owner: Owner::CxxStd,
        matches: |f| f.file.is_some_and(|file| file.starts_with("/usr/include/")),
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
                "<rustc_demangle::",
                "gimli::",
                "<gimli::",
                "addr2line::",
                "<addr2line::",
                "miniz_oxide::",
                "<miniz_oxide::",
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
    // What its user cannot change, whatever it is called: what the system installed, and what runs others' programs.
    Rule {
        name: "installed-module",
        owner: Owner::Dependency,
        matches: |f| f.module.is_some_and(|module| is_installed(f.file, module)),
    },
    Rule {
        name: "interpreter-module",
        owner: Owner::Dependency,
        matches: |f| f.module.is_some_and(|module| is_interpreter(f.file, module)),
    },
];

/// Modules of Rust's `std` that C++'s does not have as namespaces.
fn is_rust_std_name(f: &FrameFacts<'_>) -> bool {
    const MODULES: &[&str] = &[
        "alloc",
        "backtrace",
        "backtrace_rs",
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
    // What the class `std::thread` of C++ is made of: `std::thread::_State_impl<…>`, `std::thread::thread<…>`.
    let is_of_class = |rest: &&str| rest.starts_with("thread::_") || rest.starts_with("thread::thread");
    rest.filter(|rest| !is_of_class(rest))
        .is_some_and(|rest| MODULES.iter().any(|m| rest.strip_prefix(m).is_some_and(|r| r.starts_with("::"))))
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
