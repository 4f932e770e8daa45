//! Allocators inside of the program and of libraries that it has loaded: what they hand out never passes by the recorder.

use heapwise_allocators::{Family, GLIBC, Host, MUSL, by_type, families};
use heapwise_analysis::Analysis;
use heapwise_collector::hooks::{Entered, EnteredByFile};
use heapwise_symbols::inspect::{AllocatorFound, Evidence, Search};
use heapwise_trace::file::records::BlindSpot;
use heapwise_trace::live::plan::InFront;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An allocator inside of a file. `None` if the environment has it left out of use.
pub(super) fn spot(found: &AllocatorFound, path: &Path) -> Option<BlindSpot> {
    spot_in(found, path, |variable| std::env::var(variable).ok())
}

fn spot_in(
    found: &AllocatorFound,
    path: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<BlindSpot> {
    let family = families().find(|family| family.name == found.name);
    let host = path.file_name().and_then(|name| Host::of_file(&name.to_string_lossy()));
    let is_off = |(name, value): (&str, &str)| variable(name).is_some_and(|set| set.starts_with(value));
    let turned_off_by = [family.and_then(|family| family.turned_off_by), host.map(|host| host.system_by)];
    if turned_off_by.into_iter().flatten().any(is_off) {
        return None;
    }
    let of_family = family.map_or(Family::UNKNOWN.unrecorded, |family| family.unrecorded);
    let file = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let what = match found.is_runtime {
        true => format!(
            "{} contains the heap of a language's runtime ({}; {}): its objects are not recorded, only what goes through \
             malloc",
            path.display(),
            found.name,
            found.evidence
        ),
        false => format!(
            "{} contains its own allocator ({}; {}): its blocks are not recorded, only those of the C library",
            path.display(),
            found.name,
            found.evidence
        ),
    };
    let id = if is_library(&file) { BlindSpot::LIBRARY_ALLOCATOR } else { BlindSpot::OWN_ALLOCATOR };
    Some(BlindSpot {
        id: id.into(),
        what,
        remedy: host.map_or(of_family, |host| host.unrecorded).into(),
        allocator: found.name.into(),
        file: file.to_string_lossy().into_owned(),
    })
}

/// What of a file's allocators the recorder can be put in front of.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Whether the recorder has anything to be put in front of, if only what starts other programs.
    pub(super) is_any: bool,
    families: BTreeSet<&'static str>,
    /// Whether the file's own `malloc` is among it.
    pub(super) has_malloc: bool,
}

impl Reached {
    /// Whether there is one.
    pub(super) fn has_allocator(&self) -> bool {
        !self.families.is_empty()
    }

    /// Whether an allocator is among it. Rust's global allocator is one of those with a name.
    pub(super) fn has(&self, found: &AllocatorFound) -> bool {
        match found.name {
            AllocatorFound::RUST_GLOBAL => !self.families.is_empty(),
            name if is_the_malloc(name) => self.has_malloc,
            name => self.families.contains(name) || self.has_malloc && may_be_the_malloc(found),
        }
    }
}

/// Whether a name stands for the `malloc` of the program itself, whichever that is: its functions have no other names.
fn is_the_malloc(name: &str) -> bool {
    ["own malloc", "static malloc", MUSL].contains(&name)
}

/// Whether an allocator may be what a file calls `malloc`: it replaces the C library's in the usual builds, and no function says that it is
/// there beside.
fn may_be_the_malloc(found: &AllocatorFound) -> bool {
    let replaces = families().any(|family| family.name == found.name && !family.word.is_empty());
    replaces && matches!(found.evidence, Evidence::Text(_))
}

/// Plans for a file.
pub(super) fn reached(path: &Path) -> Reached {
    let plan = heapwise_symbols::entry_points::plan(path, InFront::Library).unwrap_or_default();
    let mut reached = Reached { has_malloc: plan.enters_malloc, ..Reached::default() };
    for planned in plan.planned {
        reached.is_any = true;
        if !planned.hook.kind.is_of_blocks() {
            continue;
        }
        reached.families.insert(planned.family);
    }
    reached
}

/// Those of a file that are worth a word each: an allocator with a name is what Rust's global one passes calls on to.
pub(super) fn named(found: &[AllocatorFound]) -> impl Iterator<Item = &AllocatorFound> {
    let is_global = |found: &AllocatorFound| found.name == AllocatorFound::RUST_GLOBAL;
    let has_name = found.iter().any(|found| !found.is_runtime && !is_global(found));
    found.iter().filter(move |found| !(has_name && is_global(found)))
}

fn is_library(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
}

/// What is inside of files that recorded processes had mapped as code. `recorded` are the allocators that were recorded: the
/// libraries that have their `malloc`, or types below wrappers. `entered` are those inside of files that were.
pub(crate) fn inside(
    images: &[PathBuf],
    recorded: &BTreeSet<String>,
    entered: &EnteredByFile,
) -> Vec<BlindSpot> {
    let real: BTreeSet<PathBuf> =
        recorded.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    let is_wrapped = |name: &str| {
        let mut types = recorded.iter().filter(|allocator| !allocator.contains('/'));
        types.any(|allocator| {
            // Below a wrapper in a static program is the C library's own.
            name == MUSL || allocator == name || by_type(allocator).is_some_and(|family| family.name == name)
        })
    };
    let mut search = Search::default();
    let mut spots = Vec::new();
    for path in images.iter().filter(|path| !real.contains(*path)) {
        // What is no object file, or is not there any more, says nothing.
        let Ok(inside) = search.file(path) else { continue };
        // Calls of a library's malloc go to the preloaded one, and those of a program's own do not.
        if inside.exports_malloc && is_library(path) {
            continue;
        }
        let unrecorded =
            named(&inside.allocators).filter(|found| is_library(path) || !is_wrapped(found.name));
        let is_entered = |found: &&AllocatorFound| {
            let mut of_file =
                entered.iter().filter(|((file, _), entered)| file == path && entered.functions > 0);
            of_file.any(|((_, family), _)| match found.name {
                AllocatorFound::RUST_GLOBAL => true,
                // It may be known by another name of the same function: `tc_malloc`.
                name if is_the_malloc(name) => ["", GLIBC, MUSL].contains(family) || reached(path).has_malloc,
                name => *family == name || family.is_empty() && may_be_the_malloc(found),
            })
        };
        let unrecorded = unrecorded.filter(|found| !is_entered(found));
        spots.extend(unrecorded.filter_map(|found| spot(found, path)));
    }
    spots.extend(entered.iter().filter_map(|((path, family), entered)| in_part(path, family, entered)));
    let unseen = entered.iter().filter(|(_, entered)| entered.has_unseen_ends);
    spots.extend(unseen.map(|((path, family), _)| unseen_ends(path, family)));
    if search.is_cut() {
        spots.push(BlindSpot {
            id: "not-searched".into(),
            what: "not all of the program's files were searched for allocators: there are too many, or they are too large".into(),
            remedy: "memory of an allocator that was not found is unrecorded all the same".into(),
            ..BlindSpot::default()
        });
    }
    spots
}

/// What to do where another preloaded library has its own `malloc`.
const IN_FRONT: &str =
    "have what starts the program add to LD_PRELOAD behind what is there: LD_PRELOAD=$LD_PRELOAD:LIBRARY";

/// Functions of an allocator that could not be entered through the recorder.
fn in_part(path: &Path, family: &str, entered: &Entered) -> Option<BlindSpot> {
    let (name, why) = entered.refused.first()?;
    let of_allocator = if family.is_empty() { String::new() } else { format!(" of {family}") };
    let others = match entered.refused.len() - 1 {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let of = if entered.functions > 0 { "what it hands out by these is" } else { "its blocks are" };
    Some(BlindSpot {
        id: "not-entered".into(),
        what: format!(
            "{name}{others}{of_allocator} inside {} cannot be entered through the recorder ({why}): {of} not recorded",
            path.display()
        ),
        remedy: if entered.is_in_front { IN_FRONT } else { Family::UNKNOWN.unrecorded }.into(),
        ..BlindSpot::default()
    })
}

/// Heaps that have ended with blocks that only the allocator knows.
fn unseen_ends(path: &Path, family: &str) -> BlindSpot {
    BlindSpot {
        id: "heap-ends".into(),
        what: format!(
            "heaps of {family} inside {} were destroyed with the blocks that they still had, which count as live: the file has \
             no mi_heap_visit_blocks, which would say what these are (linkers drop it where it is not called)",
            path.display()
        ),
        remedy:
            "link with -Wl,-u,mi_heap_visit_blocks (Rust: RUSTFLAGS=-Clink-arg=-Wl,-u,mi_heap_visit_blocks)"
                .into(),
        ..BlindSpot::default()
    }
}

/// Adds what is inside of the files that a recording names, if its recorder did not look: it was cut off, or the program recorded
/// itself. The files may be gone by now, or others.
pub(crate) fn complete(analysis: &mut Analysis) {
    if analysis.end.is_some() && !analysis.is_from_inside() {
        return;
    }
    let recorded = analysis.processes.iter().map(|process| process.allocator.clone()).collect();
    let modules = analysis.processes.iter().flat_map(|process| &process.modules);
    let images: BTreeSet<PathBuf> = modules.map(|module| PathBuf::from(&module.path)).collect();
    let images: Vec<PathBuf> = images.into_iter().filter(|path| path.is_absolute()).collect();
    for spot in inside(&images, &recorded, &EnteredByFile::new()) {
        if !analysis.blind_spots.iter().any(|known| known.is_of(&spot)) {
            analysis.blind_spots.push(spot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_library_with_a_setting_for_the_systems_allocator_has_that_as_remedy() {
        let found = AllocatorFound {
            name: "mimalloc",
            evidence: Evidence::Text("mimalloc: "),
            is_runtime: false,
            reaches_libc: false,
        };
        let spot = |path: &str, value: Option<&str>| {
            spot_in(&found, Path::new(path), |_| value.map(str::to_owned)).map(|spot| spot.remedy)
        };
        let arrow = "/site-packages/pyarrow/libarrow.so.2200";
        assert!(spot(arrow, None).unwrap().ends_with("ARROW_DEFAULT_MEMORY_POOL=system"));
        assert_eq!(spot(arrow, Some("system")), None);
        assert_eq!(spot(arrow, Some("mimalloc")), spot(arrow, None));
        assert!(spot("/lib/libother.so", Some("system")).unwrap().contains("keep the symbols of the file"));
    }

    #[test]
    fn a_stripped_allocator_is_what_its_file_calls_malloc() {
        let found =
            |name, evidence| AllocatorFound { name, evidence, is_runtime: false, reaches_libc: false };
        let reached = Reached { is_any: true, has_malloc: true, ..Reached::default() };
        let nothing = Reached::default();
        let mimalloc = found("mimalloc", Evidence::Text("mimalloc: "));
        assert!(reached.has(&mimalloc) && !nothing.has(&mimalloc));
        // Its functions have names of their own, and were not found by these.
        assert!(!reached.has(&found("mimalloc", Evidence::Symbol("mi_malloc".to_owned()))));
        // It replaces nothing.
        assert!(!reached.has(&found("PartitionAlloc", Evidence::Text("PartitionAlloc"))));
    }

    #[test]
    fn one_allocator_is_named_once() {
        let found = |name, is_runtime| AllocatorFound {
            name,
            evidence: Evidence::Symbol(name.to_owned()),
            is_runtime,
            reaches_libc: false,
        };
        let names = |found: &[AllocatorFound]| named(found).map(|found| found.name).collect::<Vec<_>>();
        let global = AllocatorFound::RUST_GLOBAL;
        assert_eq!(names(&[found("mimalloc", false), found(global, false)]), ["mimalloc"]);
        assert_eq!(names(&[found("Go runtime", true), found(global, false)]), ["Go runtime", global]);
        assert_eq!(names(&[found(global, false)]), [global]);
    }
}
