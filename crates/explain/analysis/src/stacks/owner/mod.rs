//! Whose code a frame is, and which one is "the user's nearest frame". The table of rules is in `rules.rs`.

mod rules;

use rules::RULES;

/// The input of the rules.
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
            "recorder-in-program",
            &[
                "<heapwise::allocator::Allocator<A> as core::alloc::global::GlobalAlloc>::alloc||/a/app",
                "heapwise::allocator::watch_allocation|/u/heapwise/src/allocator.rs|/a/app",
                "allocation|/u/crates/record/recorder/src/wrapped.rs|/a/app",
                "alloc|/c/registry/src/i/heapwise-0.1.0/src/allocator.rs|/a/app",
                "allocation|/c/registry/src/i/heapwise-recorder-0.1.0/src/wrapped.rs|/a/app",
                "reallocation|/u/heapwise/src/record/linux.rs|/a/app",
            ],
            &[
                "my::allocator::Wrapper::alloc|/u/mine/src/allocator.rs|/a/app",
                "heapwise_user::run|/u/heapwise_user/src/wrapped.rs|/a/app",
                "x|/u/heapwise-like/src/record/a.rs|/a/app",
            ],
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
            "foreign-system-module",
            &[
                r"RtlUserThreadStart|./dlls/ntdll/thread.c|C:\windows\system32\ntdll.dll",
                r"||C:\WINDOWS\System32\KERNEL32.DLL",
                "malloc||/usr/lib/system/libsystem_malloc.dylib",
            ],
            &[r"main||C:\u\kernel\app.exe", "||/u/ntdll/app"],
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
        (
            "process-start",
            &["_start||/a/app", "start_thread||/a/app", r"mainCRTStartup||C:\a\app.exe"],
            &["main||/a/app"],
        ),
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
                "x|/home/u/.cargo/registry/src/index-1/serde-1.0.0/src/lib.rs|/a/app",
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
