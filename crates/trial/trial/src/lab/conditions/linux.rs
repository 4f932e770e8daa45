//! What is on Linux the like of a debugger's checking heap.
//!
//! glibc's own checks are in a library that has to be preloaded since 2.34, its filling of freed blocks is a variable, and
//! tcmalloc has a variant that checks and fills and keeps freed blocks back: the nearest thing to the debug heap of Windows.

use super::plain::is_usual;
use super::{Condition, Role, clean};
use crate::lab::worker::Heap;
use std::path::{Path, PathBuf};
use std::process::Command;

const CHECKING: &str = "libc_malloc_debug.so.0";
/// The whole one, and the one without the profiler, which checks in the same way.
const TCMALLOC: &[&str] = &["libtcmalloc_debug.so.4", "libtcmalloc_minimal_debug.so.4"];
/// The byte that glibc fills freed blocks with. New blocks are filled with its complement.
const FILL: u8 = 165;
/// Where shared libraries are on the usual distributions.
const FOLDERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib64",
    "/lib",
    "/usr/local/lib",
];

/// The path of the first of these libraries that is installed.
fn installed(names: &[&str]) -> Option<PathBuf> {
    let all = names.iter().flat_map(|name| FOLDERS.iter().map(move |folder| Path::new(folder).join(name)));
    all.into_iter().find(|path| path.is_file())
}

fn malloc_check(command: &mut Command) {
    command.env("MALLOC_CHECK_", "3");
    if let Some(library) = installed(&[CHECKING]) {
        command.env("LD_PRELOAD", library);
    }
}

fn tcmalloc_debug(command: &mut Command) {
    if let Some(library) = installed(TCMALLOC) {
        command.env("LD_PRELOAD", library);
    }
}

fn perturb(command: &mut Command) {
    command.env("MALLOC_PERTURB_", FILL.to_string());
}

/// All checks that are installed. Only one library can be the allocator: the stronger one.
pub(super) fn check_strongly(command: &mut Command) {
    malloc_check(command);
    perturb(command);
    tcmalloc_debug(command);
}

/// Whether the C library's heap of a worker is one of those.
pub(super) fn is_checking(heap: &Heap) -> bool {
    [&MallocCheck as &dyn Condition, &Perturb, &TcmallocDebug].iter().any(|c| c.is_in_place(heap))
}

pub(super) struct MallocCheck;

impl Condition for MallocCheck {
    fn name(&self) -> &'static str {
        "malloc-check"
    }

    fn about(&self) -> String {
        format!("MALLOC_CHECK_=3 and {CHECKING}: glibc checks each block")
    }

    fn role(&self) -> Role {
        Role::Checking
    }

    fn check(&self) -> Result<(), String> {
        let missing =
            || format!("{CHECKING} is not there; it comes with glibc 2.34 and later (Debian: libc6)");
        installed(&[CHECKING]).map(|_| ()).ok_or_else(missing)
    }

    fn prepare(&self, command: &mut Command) {
        clean(command);
        malloc_check(command);
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        heap.has_library("libc_malloc_debug") && heap.usable_of_193 == 193
    }
}

pub(super) struct Perturb;

impl Condition for Perturb {
    fn name(&self) -> &'static str {
        "perturb"
    }

    fn about(&self) -> String {
        format!("MALLOC_PERTURB_={FILL}: glibc fills each block")
    }

    fn role(&self) -> Role {
        Role::Checking
    }

    fn prepare(&self, command: &mut Command) {
        clean(command);
        perturb(command);
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        heap.fresh_fill == Some(!FILL) || heap.freed_fill == Some(FILL)
    }
}

pub(super) struct TcmallocDebug;

impl Condition for TcmallocDebug {
    fn name(&self) -> &'static str {
        "tcmalloc-debug"
    }

    fn about(&self) -> String {
        let library = installed(TCMALLOC);
        let name =
            library.as_deref().and_then(Path::file_name).map_or(TCMALLOC[0].into(), |n| n.to_string_lossy());
        format!("{name}: it checks, fills and quarantines each block")
    }

    fn role(&self) -> Role {
        Role::Checking
    }

    fn check(&self) -> Result<(), String> {
        installed(TCMALLOC).map(|_| ()).ok_or_else(|| {
            format!(
                "{} is not installed; Debian's package libgoogle-perftools4t64 (libgoogle-perftools4 before Debian 13) has it",
                TCMALLOC[0]
            )
        })
    }

    fn prepare(&self, command: &mut Command) {
        clean(command);
        tcmalloc_debug(command);
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        heap.libraries.iter().any(|name| name.contains("tcmalloc") && name.contains("_debug"))
    }
}

/// The command is first given everything that makes a heap slow, and then it is cleaned.
pub(super) struct Fixed;

impl Condition for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn about(&self) -> String {
        "all of these were set, and then removed as heapwise recommends".to_owned()
    }

    fn role(&self) -> Role {
        Role::Fixed
    }

    fn prepare(&self, command: &mut Command) {
        check_strongly(command);
        clean(command);
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        is_usual(heap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(condition: &dyn Condition) -> Vec<String> {
        let mut command = Command::new("true");
        condition.prepare(&mut command);
        let set = command.get_envs().filter(|(_, value)| value.is_some());
        set.map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_fix_leaves_nothing_of_what_was_set() {
        let mut command = Command::new("true");
        check_strongly(&mut command);
        assert!(command.get_envs().count() >= 2);
        assert_eq!(variables(&Fixed), [""; 0]);
        assert_eq!(variables(&Perturb), ["MALLOC_PERTURB_"]);
    }

    #[test]
    fn a_heap_is_recognised_by_what_it_does() {
        let check = Heap {
            usable_of_193: 193,
            libraries: vec!["libc_malloc_debug.so.0".to_owned()],
            ..Heap::default()
        };
        assert!(MallocCheck.is_in_place(&check));
        // The loader ignored the library, and the variable alone does nothing.
        assert!(!MallocCheck.is_in_place(&Heap { usable_of_193: 200, ..Heap::default() }));
        assert!(Perturb.is_in_place(&Heap { fresh_fill: Some(0x5a), ..Heap::default() }));
        assert!(!Perturb.is_in_place(&check));
        let tcmalloc =
            Heap { libraries: vec!["libtcmalloc_minimal_debug.so.4.5.10".to_owned()], ..Heap::default() };
        assert!(TcmallocDebug.is_in_place(&tcmalloc));
        let usual = Heap { libraries: vec!["libtcmalloc_minimal.so.4.5.10".to_owned()], ..Heap::default() };
        assert!(!TcmallocDebug.is_in_place(&usual));
    }
}
