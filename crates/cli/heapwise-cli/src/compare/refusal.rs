//! Programs whose allocator cannot be replaced: reported before an hour of runs that would all be the same, with what to do
//! instead.

use crate::{Failure, blind_spots, executable, exit};
use anyhow::anyhow;
use heapwise_collector::hooks::EnteredByFile;
use heapwise_symbols::inspect::{Class, Executable, Libc, Machine, inspect};
use heapwise_trace::file::records::BlindSpot;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// An error for a program that cannot be compared. A program that cannot be found is reported when it is started.
pub(crate) fn check(program: &OsStr) -> Result<(), Failure> {
    match executable::of_command(program).and_then(Result::ok).as_ref().and_then(sentence) {
        None => Ok(()),
        Some(sentence) => Err(Failure::new(exit::USAGE, anyhow!(sentence))),
    }
}

/// The same for the file that a process turned out to execute: the command may have been a script, or a program that looks for
/// another one.
pub(crate) fn of_file(path: &Path) -> Option<String> {
    sentence(&inspect(path, None).ok()?)
}

/// What keeps its own allocator under each candidate: libraries that have one inside, as extensions of Python do.
pub(crate) fn out_of_reach(libraries: &[PathBuf]) -> Option<String> {
    let inside = blind_spots::inside(libraries, &BTreeSet::new(), &EnteredByFile::new());
    let inside = inside.iter().filter(|spot| spot.id == BlindSpot::LIBRARY_ALLOCATOR);
    let named: Vec<_> = inside.map(|spot| format!("{} ({})", spot.file, spot.allocator)).collect();
    (!named.is_empty()).then(|| {
        format!(
            "no candidate comes in place of allocators inside of libraries: {}; what is compared is the C library's malloc, for all \
             other blocks",
            named.join(", ")
        )
    })
}

fn sentence(executable: &Executable) -> Option<String> {
    let (what, remedy) = reason(executable)?;
    Some(format!("{} cannot be given another allocator: {what}; {remedy}", executable.path.display()))
}

/// Why not, and what to do.
fn reason(executable: &Executable) -> Option<(String, &'static str)> {
    const WITHOUT: &str = "build it without its own allocator (for Rust: without #[global_allocator]), compare that, and put the \
                           one that you choose in its place";
    if executable.interpreter.is_none() {
        let what = "it is linked statically, and no library can be loaded into it".to_owned();
        return Some((
            what,
            "link it dynamically against glibc (for Rust: a *-gnu target without +crt-static)",
        ));
    }
    if executable.libc != Libc::Glibc {
        let what =
            "it does not use glibc, whose allocation functions are the ones that can be replaced".to_owned();
        return Some((what, "build it for a *-linux-gnu target"));
    }
    if (executable.class, executable.machine) != (Class::Elf64, Machine::X86_64) {
        let what = "it is not for 64-bit x86, as the allocators are".to_owned();
        return Some((what, "build it for x86_64-unknown-linux-gnu"));
    }
    if executable.privileges.any() {
        let what = "it gains privileges when it starts, and the loader then ignores LD_PRELOAD".to_owned();
        return Some((what, "compare a copy without set-uid, set-gid and file capabilities"));
    }
    if executable.exports_malloc {
        let what =
            "it defines malloc itself, as rustc does, which takes precedence over any other".to_owned();
        return Some((what, WITHOUT));
    }
    // The heap of a language's runtime is beside the C library's, which can be replaced all the same.
    let own = executable.own_allocators.iter().find(|own| !own.reaches_libc && !own.is_runtime)?;
    let what = format!("it contains its own allocator ({}; {})", own.name, own.evidence);
    Some((what, WITHOUT))
}
