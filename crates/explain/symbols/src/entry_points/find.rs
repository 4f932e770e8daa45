//! Finds the entry points of allocators in a file.

use super::displace::{Refusal, displace, steps};
use super::neighbours::Neighbours;
use super::points::{self, Points};
use super::{callers, clobbers, go};
use crate::code::{self, Code, Function};
use crate::endings::Endings;
use crate::{Error, Svma};
use heapwise_trace::live::hooks::{Arguments, Hook, HookKind};
use heapwise_trace::live::plan::{FilePlan, InFront, KNOWN, Planned, Refused};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What is behind a function and may make way for a jump into it.
const BEHIND: u64 = 16;
/// Bytes that are looked at of a function whose size is not known.
const UNKNOWN_SIZE: u64 = 64;
/// Functions of checking heaps: what is behind them counts and fills on its own, and its `malloc` is the check.
const CHECKING: &[&str] = &["__asan_init", "__msan_init", "__tsan_init", "__hwasan_init"];

/// Plans for one file. What is found by its name there is entered only if no library of ours is in front of it.
///
/// # Errors
/// If it is missing, unreadable, damaged, or no ELF file for 64-bit x86.
pub fn plan(path: &Path, in_front: InFront) -> Result<FilePlan, Error> {
    code::read(path, |code| {
        let mut plan = FilePlan { inode: code.inode(), ..FilePlan::default() };
        if let Some(segment) = code.segments().first() {
            plan.code = (segment.in_file.start, segment.address.0);
        }
        if in_front == InFront::Nothing {
            plan.known = code.exported(&KNOWN).into_iter().map(|(name, at)| (name, at.0)).collect();
        }
        // Of each function that was looked at: its place in the plan, if it is entered.
        let mut done = BTreeMap::<Svma, Option<usize>>::new();
        let points = entry_points(code, in_front);
        if points.is_empty() {
            return plan;
        }
        let neighbours = Neighbours::of(code, |function| points.iter().any(|point| point.name == function));
        let of_blocks =
            points.iter().filter(|point| is_of_known_allocator(point) && point.kind.is_of_blocks());
        let returns =
            of_blocks.map(|point| (point.function.address.0, point.kind != HookKind::Free)).collect();
        let relied = callers::relied_on(code, &neighbours, &returns);
        for EntryPoint { family, name, kind, arguments, function } in points {
            let is_of_c = points::C.iter().any(|(of_c, _)| *of_c == name);
            let is_by_name = function.is_exported && !code.is_executable() && is_of_c;
            // Several names of one function are one.
            if let Some(known) = done.get(&function.address) {
                if let Some(planned) = known.and_then(|index| plan.planned.get_mut(index)) {
                    plan.enters_malloc |= name == "malloc";
                    planned.is_by_name |= is_by_name;
                }
                continue;
            }
            let size = if function.size == 0 { UNKNOWN_SIZE } else { function.size };
            let bytes = code.bytes(function.address, size.saturating_add(BEHIND));
            let hook = displace(bytes, usize::try_from(size).unwrap_or(usize::MAX), function.address.0);
            let found = hook.and_then(|hook| {
                let in_file = code.offset(Svma(hook.address)).ok_or(Refusal::NoCode)?;
                if neighbours.branch_into(code, &hook) {
                    return Err(Refusal::BranchInto);
                }
                let is_of_c_library = is_of_c_library(family);
                let relied = relied.get(&function.address.0).copied().unwrap_or_default();
                // glibc's and musl's own callers (realloc, memalign) have nothing in vector registers, and are not optimised together
                // with a program. An allocator whose name is known may be, but hardly ever is.
                let keeps_vectors = kind.is_of_blocks() && (family.is_empty() || relied.on_vectors);
                let keeps_registers = keeps_vectors
                    || relied.on_integers
                    || kind.is_of_blocks()
                        && is_of_c_library
                        && !clobbers::all(code, &neighbours, function.address.0);
                // What the C library itself has in a static program is called by nothing that could be in front of it.
                let is_last = is_of_c_library && code.is_static();
                let may_pass_on =
                    (code.is_executable() || in_front == InFront::Itself) && is_of_c && !is_last;
                Ok(Planned {
                    family,
                    name: name.clone(),
                    in_file,
                    hook: Hook { kind, arguments, may_pass_on, keeps_registers, keeps_vectors, ..hook },
                    steps: steps(&hook),
                    is_by_name,
                })
            });
            match found {
                Ok(planned) => {
                    plan.enters_malloc |= planned.name == "malloc";
                    done.insert(function.address, Some(plan.planned.len()));
                    plan.planned.push(planned);
                }
                Err(why) => {
                    done.insert(function.address, None);
                    // Without what is not of blocks, none is missing.
                    if kind.is_of_blocks() {
                        plan.refused.push(Refused { family, name, why: why.to_string() });
                    }
                }
            }
        }
        plan
    })
}

/// Whether a family is a C library's.
fn is_of_c_library(family: &str) -> bool {
    points::STATIC.iter().any(|(_, name)| *name == family)
}

/// Whether a function is of an allocator whose name is known.
fn is_of_known_allocator(point: &EntryPoint<'_>) -> bool {
    !point.family.is_empty() && !is_of_c_library(point.family)
}

/// A function of an allocator, or of what a recorder has to know beside.
#[derive(Clone, Debug)]
struct EntryPoint<'code> {
    family: &'static str,
    name: String,
    /// What it does.
    kind: HookKind,
    arguments: Arguments,
    /// Where it is.
    function: Function<'code>,
}

/// The entry points that a file defines.
fn entry_points<'code>(code: &'code Code<'_>, in_front: InFront) -> Vec<EntryPoint<'code>> {
    let mut defined: BTreeMap<&str, Function<'_>> = BTreeMap::new();
    // Families of whose heaps a program may have one.
    let mut has_heaps = BTreeSet::new();
    let (mut is_checking, mut exports_malloc, mut c_library) = (false, false, "");
    let (mut is_c_library, mut is_glibc) = (false, false);
    let endings = Endings::of(all_names());
    let mut candidates = Vec::new();
    code.functions_where(|name| endings.may_have(name), |function| candidates.push(function));
    let is_of_c = |function: &Function<'_>| points::C.iter().any(|(known, _)| *known == function.name);
    // In a program that is linked statically, a name that the C library hides is as local as one of a single source file.
    let mut local: BTreeSet<Svma> =
        candidates.iter().filter(|it| it.is_static && is_of_c(it)).map(|it| it.address).collect();
    if !local.is_empty() {
        code.functions(|function| {
            if !function.is_static {
                local.remove(&function.address);
            }
        });
    }
    for function in candidates {
        is_checking |= CHECKING.contains(&function.name);
        let known = points::STATIC.iter().find(|(sign, _)| *sign == function.name);
        c_library = known.map_or(c_library, |(_, name)| name);
        let with_heaps = points::ALL.iter().filter(|points| points.heaps.contains(&function.name));
        has_heaps.extend(with_heaps.map(|points| points.family));
        exports_malloc |= function.is_exported && function.name == "malloc";
        is_c_library |= function.is_exported && function.name == points::C_LIBRARY;
        is_glibc |= function.is_exported && function.name == points::GLIBC;
        let is_local = function.is_static && local.contains(&function.address);
        let beside = points::PROCESS.iter().chain(points::LOADER);
        let is_of_process = beside.into_iter().any(|(known, _)| *known == function.name);
        if (may_be_one(function.name) || is_of_process) && !(is_of_c(&function) && is_local) {
            // What others may use is the one that is meant.
            match function.is_exported {
                true => drop(defined.insert(function.name, function)),
                false => drop(defined.entry(function.name).or_insert(function)),
            }
        }
    }
    if is_checking {
        return Vec::new();
    }
    let mut found = Vec::new();
    let put = |found: &mut Vec<_>, family, name: String, kind, arguments| {
        if let Some(&function) = defined.get(&*name) {
            found.push(EntryPoint { family, name, kind, arguments, function });
        }
    };
    let add = |found: &mut Vec<_>, family, prefix: &str, functions: &[(&str, HookKind)]| {
        let before = found.len();
        for (name, kind) in functions {
            put(found, family, format!("{prefix}{name}"), *kind, Arguments::Few);
        }
        found.len() > before
    };
    let mut of_malloc = "";
    for points in points::ALL {
        for prefix in prefixes(points, &defined) {
            let functions = match prefix {
                "" if points.sign.is_some() => beside_c(points),
                _ => points.functions.to_vec(),
            };
            let is_there = add(&mut found, points.family, prefix, &functions);
            for (name, kind, arguments) in points.others {
                if *arguments == Arguments::BehindHeap && !has_heaps.contains(points.family) {
                    continue;
                }
                put(&mut found, points.family, (*name).to_owned(), *kind, *arguments);
            }
            if prefix.is_empty() && is_there {
                of_malloc = points.family;
            }
        }
    }
    // A library's `malloc` is found by its name, and so the preloaded one stands in front of it; unless it is hidden.
    let is_hidden = !exports_malloc && !of_malloc.is_empty();
    // With a library in front, what is found by its name is that library's matter.
    let is_found_by_name = exports_malloc && !code.is_executable() && in_front != InFront::Library;
    if is_found_by_name && is_c_library {
        c_library = if is_glibc { "glibc" } else { "musl" };
    }
    let is_c_library = of_malloc.is_empty() && !c_library.is_empty();
    let is_entered = code.is_executable() || is_hidden || is_found_by_name;
    if defined.contains_key("malloc") && is_entered {
        match is_c_library && (code.is_static() || is_found_by_name) {
            // Operators of C++ end in its `malloc`, and may throw, which nothing of ours may stand in the way of.
            true => add(&mut found, c_library, "", &functions_of_c()),
            false => add(&mut found, of_malloc, "", points::C),
        };
    }
    // Also where there is no allocator: it may start programs that have one.
    if code.is_static() || is_found_by_name && is_c_library {
        add(&mut found, c_library, "", points::PROCESS);
    }
    if !code.is_executable() {
        add(&mut found, "", "", points::LOADER);
    }
    for (function, kind) in go::system_calls(code) {
        let (name, arguments) = (function.name.to_owned(), Arguments::Few);
        found.push(EntryPoint { family: "", name, kind, arguments, function });
    }
    found
}

/// Names that mean something, without what a build may put in front of them.
fn all_names() -> impl Iterator<Item = &'static str> {
    let of_allocators = points::ALL.iter().flat_map(|points| {
        let functions = points.functions.iter().map(|(name, _)| *name);
        let others = points.others.iter().map(|(name, ..)| *name);
        functions.chain(others).chain(points.sign).chain(points.heaps.iter().copied())
    });
    let of_others = [points::C, points::PROCESS, points::LOADER].into_iter().flatten();
    let signs = points::STATIC.iter().map(|(name, _)| *name).chain(CHECKING.iter().copied());
    of_allocators
        .chain(of_others.map(|(name, _)| *name))
        .chain(signs)
        .chain([points::C_LIBRARY, points::GLIBC])
}

/// The functions of the C library alone.
fn functions_of_c() -> Vec<(&'static str, HookKind)> {
    points::C.iter().copied().filter(|(name, _)| !name.starts_with("_Z")).collect()
}

/// An allocator's functions that the C library does not have.
fn beside_c(points: &Points) -> Vec<(&'static str, HookKind)> {
    let is_of_c = |name: &str| points::C.iter().any(|(of_c, _)| *of_c == name);
    points.functions.iter().copied().filter(|(name, _)| !is_of_c(name)).collect()
}

/// What comes before the names of an allocator's functions, once for each time that the file contains it.
fn prefixes<'a>(points: &Points, defined: &BTreeMap<&'a str, Function<'_>>) -> Vec<&'a str> {
    let Some(sign) = points.sign else { return vec![""] };
    let prefixes = defined.keys().filter_map(|name| name.strip_suffix(sign));
    prefixes.filter(|prefix| prefix.is_empty() || prefix.ends_with('_')).collect()
}

/// Whether a name ends as one of those that are looked for. Names of C++ and Rust are only looked at whole.
fn may_be_one(name: &str) -> bool {
    let is_mangled = name.starts_with("_Z") || name.starts_with("_R");
    let of_c = || points::C.iter().any(|(known, _)| *known == name);
    let ends = |points: &Points, known: &str| match points.sign.is_some() {
        true => name.strip_suffix(known).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('_')),
        false => name == known,
    };
    let of = |points: &Points| {
        points.functions.iter().any(|(known, _)| ends(points, known))
            || points.others.iter().any(|(known, ..)| *known == name)
    };
    of_c() || points::ALL.iter().filter(|points| !is_mangled || points.sign.is_none()).any(of)
}
