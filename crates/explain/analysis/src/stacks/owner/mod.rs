//! Whose code a frame is, and which one is "the user's nearest frame": the innermost one that the user wrote. Where there is none, it
//! is the nearest one of a dependency, and then of a standard library. The table of rules is in `rules.rs`.

mod copies;
mod package;
mod rules;
mod wrappers;

pub use copies::makes_a_copy;
pub use package::{Package, package_of};
pub use wrappers::{WrapperKind, wrapper_kind};

use package::is_interpreter;
pub(crate) use package::of_source;
pub(crate) use wrappers::{sounds_like_one, sounds_like_one_of_rust};

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
    /// An allocation wrapper, whoever wrote it: `xmalloc`.
    Wrapper,
    /// The standard library of Rust, and crates of collections.
    RustStd,
    /// The standard library of C++, and headers of installed libraries.
    CxxStd,
    /// A package that the program depends on, a library or program that the system installed, an interpreter.
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
/// The first one that the user wrote, but that a function which only makes a copy of something (`Clone::clone`, a copy
/// constructor; the compiler writes most of them) is passed over to whoever asked for the copy. Where nothing of the
/// user's is on the stack, as on the threads of a thread pool: the nearest one of a dependency. Only where there is no
/// such frame either, one of a standard library or of the system. `None` if all frames are heapwise's. A frame without a name says less
/// than its caller, but for an interpreter's: how that calls a module says nothing of what the module does. Nor does the function with
/// which a program or a thread begins, which has all that happens further in.
///
/// Beside each frame is what is known to be the best further out, itself included; `facts_of` is asked for the frames that matter
/// only. A stack that `is_whole` ends with what its thread began with.
pub(crate) fn nearest_frame<'a, F: Copy>(
    frames: impl Iterator<Item = (F, Owner, BestRank)>,
    is_whole: bool,
    facts_of: impl Fn(F) -> FrameFacts<'a>,
) -> Option<usize> {
    let mut best: Option<(Rank, usize)> = None;
    // The best one, if it has no name.
    let mut nameless = None;
    let mut called = None;
    let mut is_of_module = false;
    let mut frames = frames.enumerate().peekable();
    while let Some((at, (frame, owner, outwards))) = frames.next() {
        // PERF: an interpreter has hundreds of frames, and mostly none of them is better than the first.
        if best.is_some_and(|(known, _)| known <= outwards.0) {
            break;
        }
        let called = called.replace(frame);
        if best.is_some_and(|(known, _)| known <= best_rank_of(owner)) {
            continue;
        }
        let facts = facts_of(frame);
        let called = || called.and_then(|frame| facts_of(frame).function);
        let Some(rank) = rank_of(&facts, owner, called) else { continue };
        let interprets = || facts.module.is_some_and(|module| is_interpreter(facts.file, module));
        if is_of_module && rank == Rank::Dependency && interprets() {
            // So nothing further out of the interpreter has to be looked at.
            best = best.map(|(_, at)| (Rank::Dependency, at));
            is_of_module = false;
            continue;
        }
        let beyond = frames.peek().map_or(BestRank::NONE, |(_, (.., beyond))| *beyond);
        let begins = is_whole && beyond > BestRank::WITHOUT_NAME;
        let is_same_module = |first: &F| facts_of(*first).module == facts.module;
        if nameless.is_some_and(|(first, frame)| at - first > NEAR && begins && is_same_module(&frame)) {
            continue;
        }
        if best.is_none_or(|(known, _)| rank < known) {
            best = Some((rank, at));
            nameless = rank.is_without_name().then_some((at, frame));
            is_of_module = rank == Rank::DependencyWithoutName && !interprets();
        }
        // Nothing is better, and the rest of the stack may be long.
        if rank == Rank::Own {
            break;
        }
    }
    best.map(|(_, at)| at)
}

/// How much further out the first function of a program may be and still say what a function without a name does.
const NEAR: usize = 2;

/// How well a frame does as the place of an allocation, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Own,
    /// The user's, but who asked for the copy says more.
    OwnCopy,
    /// The user's by all that is known, which is not even its name.
    OwnWithoutName,
    Dependency,
    DependencyCopy,
    DependencyWithoutName,
    /// Of no file, as code that V8 or LuaJIT makes: an address that is another one in each run.
    WithoutModule,
    Wrapper,
    Std,
    /// What all of the standard library is made of, and what it starts a program with: that says nothing.
    StdGeneral,
    /// In a shared library: less close to the program.
    StdOfLibrary,
    System,
}

impl Rank {
    fn is_without_name(self) -> bool {
        matches!(self, Self::OwnWithoutName | Self::DependencyWithoutName)
    }
}

/// The best that some frames can be, by their owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BestRank(Rank);

impl BestRank {
    /// Of no frames at all.
    pub(crate) const NONE: Self = Self(Rank::System);
    /// No better than a package's, of which not even the name is known.
    const WITHOUT_NAME: Self = Self(Rank::DependencyWithoutName);

    /// Of these and of one more.
    pub(crate) fn and(self, owner: Owner) -> Self {
        Self(self.0.min(best_rank_of(owner)))
    }
}

/// What a frame of this owner can be at best.
fn best_rank_of(owner: Owner) -> Rank {
    match owner {
        Owner::User => Rank::Own,
        Owner::Dependency => Rank::Dependency,
        Owner::Wrapper => Rank::Wrapper,
        Owner::RustStd | Owner::CxxStd => Rank::Std,
        Owner::System | Owner::Recorder => Rank::System,
    }
}

/// `called` is the function of the frame before it.
fn rank_of<'a>(facts: &FrameFacts<'a>, owner: Owner, called: impl Fn() -> Option<&'a str>) -> Option<Rank> {
    let is_copy = || facts.function.is_some_and(|name| makes_a_copy(name, facts.file, called()));
    let is_in_library = facts.module.is_none_or(|module| module.contains(".so"));
    let rank = match owner {
        Owner::Recorder => return None,
        Owner::User if is_copy() => Rank::OwnCopy,
        Owner::User if facts.function.is_none() && facts.module.is_none() => Rank::WithoutModule,
        Owner::User if facts.function.is_none() && is_in_library => Rank::OwnWithoutName,
        Owner::User => Rank::Own,
        Owner::Dependency if facts.function.is_none() => Rank::DependencyWithoutName,
        Owner::Dependency if is_copy() => Rank::DependencyCopy,
        Owner::Dependency => Rank::Dependency,
        Owner::Wrapper => Rank::Wrapper,
        Owner::RustStd | Owner::CxxStd if is_in_library => Rank::StdOfLibrary,
        Owner::RustStd if facts.file.is_some_and(is_general) => Rank::StdGeneral,
        Owner::RustStd | Owner::CxxStd => Rank::Std,
        Owner::System => Rank::System,
    };
    Some(rank)
}

/// A file of Rust's standard library that is below or around everything: containers, generic code, the way into `main`.
fn is_general(file: &str) -> bool {
    let parts =
        ["/library/alloc/src/", "/library/core/src/", "/hashbrown-", "/std/src/rt.rs", "/sys/backtrace.rs"];
    parts.iter().any(|part| file.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each rule must match (`function | file | module`), and what looks alike and is not its.
    const CASES: &[(&str, &[&str], &[&str])] = &[
        (
            "recorder-module",
            &["malloc||/tmp/libheapwise_preload.so", "||/memfd:heapwise-preload (deleted)"],
            &["||/u/bin/heapwise-user"],
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
            &["||/u/lib/libcurl.so.4", "||/u/lib/libcairo.so.2"],
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
            &["||/u/lib/libjson.so"],
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
            "allocation-wrapper",
            &["xmalloc||/a/app", "xmalloc|/u/src/xalloc.c|/a/app", "g_strdup||/usr/lib/libglib-2.0.so.0"],
            &["xml_parse|/u/src/xml.c|/a/app", "my_malloc||/a/app", "app::xmalloc|/u/src/main.rs|/a/app"],
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
            "rust-global-allocator",
            &["<app::Counting<A> as core::alloc::global::GlobalAlloc>::alloc|/u/src/main.rs|/a/app"],
            &[
                "app::GlobalAlloc::alloc|/u/src/main.rs|/a/app",
                "<app::A as app::Alloc>::alloc|/u/src/main.rs|/a/app",
            ],
        ),
        (
            "rust-collections-file",
            &[
                "x|/home/u/.cargo/registry/src/index-1/hashbrown-0.15.2/src/raw/mod.rs|/a/app",
                "x|/r/registry/src/i/indexmap-2.0.0/src/map.rs|/a/app",
                "x|/r/registry/src/i/compact_str-0.9.0/src/repr/heap.rs|/a/app",
            ],
            &["x|/home/u/hashbrown-0.15.2/src/raw/mod.rs|/a/app"],
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
            "fetched-file",
            &[
                "x|/go/pkg/mod/github.com/mattn/go-sqlite3@v1.14.22/sqlite3.c|/a/app",
                "x|/u/build/vcpkg_installed/x64-linux/include/fmt/format.h|/a/app",
            ],
            &["x|/home/u/pkg/mod/a.c|/a/app"],
        ),
        (
            "system-header-file",
            &["x|/usr/include/boost/container/vector.hpp|/a/app"],
            &["x|/home/u/usr/include/a.h|/a/app"],
        ),
        (
            "rust-std-name",
            &[
                "<std::alloc::System as core::alloc::global::GlobalAlloc>::alloc||/a/app",
                "alloc::vec::Vec<T>::push||/a/app",
                "<alloc::string::String as core::clone::Clone>::clone||/a/app",
                "std::thread::Builder::spawn||/a/app",
                "<T as core::convert::Into<U>>::into||/a/app",
                // Of a backtrace that is printed.
                "<gimli::read::dwarf::Unit<gimli::read::endian_slice::EndianSlice<E>, usize>>::new||/a/app",
                "std::backtrace_rs::symbolize::gimli::resolve||/a/app",
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
                "std::thread::_State_impl<f>::_M_run||/a/app",
            ],
            &["mystd::run||/a/app"],
        ),
        (
            "installed-module",
            &[
                "g_hash_table_insert||/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0",
                "||/usr/bin/git",
                "list_resize|./Objects/listobject.c|/usr/bin/python3.11",
                "add||/u/env/lib/python3.12/site-packages/arrow/lib.cpython-312-x86_64-linux-gnu.so",
                "open||/u/app/node_modules/sqlite/build/sqlite.node",
            ],
            &[
                "add|/u/ext/add.c|/u/env/lib/python3.12/site-packages/ext.so",
                "main|/app/src/main.c|/usr/bin/app",
                "main||/usr/local/bin/app",
            ],
        ),
        (
            "interpreter-module",
            &["list_resize||/r/.pyenv/versions/3.12.1/bin/python3.12", "||/opt/lib/libjvm.so"],
            &["list_resize|/home/u/cpython/Objects/listobject.c|/home/u/cpython/python", "||/a/nodes"],
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
        nearest_of(stack, true)
    }

    fn nearest_of(stack: &[&str], is_whole: bool) -> Option<usize> {
        let mut outwards = BestRank::NONE;
        let frames = stack.iter().rev().map(|case| {
            let facts = facts(case);
            outwards = outwards.and(owner_of(&facts));
            (facts, owner_of(&facts), outwards)
        });
        let frames: Vec<_> = frames.collect();
        nearest_frame(frames.into_iter().rev(), is_whole, |facts| facts)
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

    const MALLOC: &str = "malloc||/x/libheapwise.so";
    const ALLOC: &str = "alloc::alloc::alloc|/rustc/1/library/alloc/src/alloc.rs|/a/app";
    const WALK: &str =
        "ignore::walk::Work::run|/home/u/.cargo/registry/src/i/ignore-0.4.23/src/walk.rs|/a/app";
    const THREAD: &str = "std::thread::Builder::spawn|/rustc/1/library/std/src/thread/mod.rs|/a/app";
    const MAIN: &str = "app::main|/u/src/main.rs|/a/app";

    #[test]
    fn on_a_thread_of_a_pool_the_nearest_frame_is_a_dependencys() {
        assert_eq!(nearest(&[MALLOC, ALLOC, WALK, THREAD, "start_thread||/a/app"]), Some(2));
        let map = "insert|/r/registry/src/i/hashbrown-0.15.2/src/map.rs|/a/app";
        assert_eq!(nearest(&[MALLOC, ALLOC, map, WALK, THREAD]), Some(3), "a collection is its caller's");
        assert_eq!(nearest(&[MALLOC, ALLOC, WALK, THREAD, MAIN]), Some(4), "the user's own code comes first");
        let glib = "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0";
        let (named, bare) = (format!("g_hash_table_new||{glib}"), format!("||{glib}"));
        assert_eq!(nearest(&[MALLOC, &bare, &named, "||/usr/bin/app"]), Some(2), "a name leads further");
    }

    #[test]
    fn what_a_program_begins_with_is_no_place_of_what_happens_far_within() {
        let library = "/usr/lib/libclingo.so.3";
        let (bare, main) = (format!("||{library}"), format!("gringo_main_||{library}"));
        let (bare, main, start) = (bare.as_str(), main.as_str(), "_start||/usr/bin/gringo");
        assert_eq!(nearest(&[MALLOC, bare, bare, bare, bare, main, start]), Some(1));
        assert_eq!(nearest(&[MALLOC, bare, bare, bare, bare, main]), Some(1), "or a thread with");
        let cut = [MALLOC, bare, bare, bare, bare, main];
        assert_eq!(nearest_of(&cut, false), Some(5), "what is further out is not known");
        assert_eq!(nearest(&[MALLOC, bare, bare, main, start]), Some(3), "it is near");
        assert_eq!(
            nearest(&[MALLOC, bare, bare, bare, bare, main, "||/usr/bin/app", start]),
            Some(5),
            "an entry point"
        );
        let near = format!("clingo_ground||{library}");
        assert_eq!(
            nearest(&[MALLOC, bare, bare, bare, &near, bare, main, start]),
            Some(4),
            "another name is between"
        );
        assert_eq!(
            nearest(&[MALLOC, bare, bare, bare, bare, main, MAIN]),
            Some(6),
            "the user's own code comes first"
        );
    }

    #[test]
    fn a_module_without_names_is_not_its_interpreters_doing() {
        let module = "||/u/venv/lib/python3.11/site-packages/cv2/cv2.abi3.so";
        let call = "cfunction_call|/b/Objects/methodobject.c|/usr/lib/libpython3.11.so.1.0";
        assert_eq!(nearest(&[MALLOC, module, module, call]), Some(1));
        let list = "PyList_New|/b/Objects/listobject.c|/usr/lib/libpython3.11.so.1.0";
        assert_eq!(nearest(&[MALLOC, list, module, call]), Some(1), "the interpreter's own block");
        let bare = "||/usr/bin/python3.11";
        assert_eq!(nearest(&[MALLOC, bare, call]), Some(2), "a name leads further");
        assert_eq!(nearest(&[MALLOC, module, call, "app::run|/u/src/a.rs|/a/app"]), Some(3));
        let api =
            "LGBM_DatasetCreateFromMats||/u/venv/lib/python3.11/site-packages/lightgbm/lib/lib_lightgbm.so";
        let by_ctypes = "_call_function_pointer|/b/Modules/_ctypes/callproc.c|\
                         /r/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so";
        assert_eq!(nearest(&[MALLOC, api, by_ctypes, call]), Some(1), "not how it is called");
        let json = "||/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so";
        assert_eq!(nearest(&[MALLOC, json, call]), Some(1), "the file is all that says what it is");
    }

    #[test]
    fn code_that_is_made_while_a_program_runs_is_no_place_where_anything_has_a_name() {
        let (made, grow) = ("||", "v8::internal::Runtime_MapGrow||/usr/bin/node");
        assert_eq!(nearest(&[MALLOC, grow, made, made]), Some(1));
        assert_eq!(nearest(&[MALLOC, made, made, grow]), Some(3), "or calls what has none");
        assert_eq!(nearest(&[MALLOC, "||/usr/lib/libluajit-5.1.so.2", made]), Some(1), "a file says more");
        assert_eq!(nearest(&[MALLOC, made, "app::main|/u/src/main.rs|/a/app"]), Some(2));
        assert_eq!(nearest(&[MALLOC, made]), Some(1), "it is all that is known");
    }

    #[test]
    fn in_the_standard_librarys_own_work_its_containers_are_no_place() {
        let guard = "std::sys::stack_overflow::set_current_info|/rustc/1/library/std/src/sys/stack_overflow.rs|/a/app";
        let start = "std::rt::lang_start|/rustc/1/library/std/src/rt.rs|/a/app";
        assert_eq!(nearest(&[MALLOC, ALLOC, guard, start]), Some(2));
        assert_eq!(nearest(&[MALLOC, ALLOC, start]), Some(1), "how a program starts says no more");
        assert_eq!(nearest(&[MALLOC, ALLOC, guard, MAIN]), Some(3));
    }

    #[test]
    fn wrappers_are_passed_over_to_their_callers() {
        let own = "xmalloc|/u/src/xmalloc.c|/a/app";
        assert_eq!(nearest(&[own, "xstrdup||/a/app", "parse|/u/src/parse.c|/a/app"]), Some(2));
        assert_eq!(nearest(&[own, "start_thread||/a/app"]), Some(0), "it is all that is known");
    }

    #[test]
    fn a_copy_is_its_callers_who_asked_for_it() {
        let clone = "<app::Thing as core::clone::Clone>::clone|/u/src/thing.rs|/a/app";
        assert_eq!(nearest(&[ALLOC, clone, MAIN]), Some(2));
        assert_eq!(nearest(&[ALLOC, clone, WALK, THREAD]), Some(1), "nothing else is the user's");
        let of_crate = "clone|/home/u/.cargo/registry/src/i/ignore-0.4.23/src/walk.rs|/a/app";
        assert_eq!(nearest(&[ALLOC, of_crate, WALK, THREAD]), Some(2), "within a dependency, too");
    }
}
