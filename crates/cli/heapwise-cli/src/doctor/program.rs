//! A program file, for the checks.

use crate::executable::Executable;
use heapwise_allocators::{MUSL, families};
use heapwise_environment::Facts;
use heapwise_environment::facts::{Libc, Library, Origin, OwnAllocator, Program};
use heapwise_symbols::inspect;
use std::path::Path;

/// The allocator of a static executable, which may be that of its C library.
const STATIC: &str = "static malloc";

/// Adds the file that a process executes to what is known of it, even if it was replaced since.
pub(crate) fn add_of_process(pid: u32, facts: &mut Facts) -> Result<(), String> {
    let link = format!("/proc/{pid}/exe");
    let mut found = inspect::inspect(Path::new(&link), None).map_err(|error| error.to_string())?;
    if let Ok(path) = std::fs::read_link(&link) {
        found.path = path;
    }
    facts.program = Some(of_executable(&found));
    Ok(())
}

/// The facts that checks need.
fn of_executable(found: &Executable) -> Program {
    let own = |wanted: &str| found.own_allocators.iter().any(|own| own.name == wanted);
    let sanitizers = || families().filter(|family| family.is_sanitizer).map(|family| family.name);
    // Sanitizers are not allocators that the developer chose.
    let is_chosen = |name: &str| sanitizers().all(|one| one != name) && name != STATIC && name != MUSL;
    let chosen = |own: &&inspect::AllocatorFound| is_chosen(own.name) && !own.is_runtime && !own.reaches_libc;
    let allocators = found.own_allocators.iter().filter(chosen);
    let linked = sanitizers().filter(|name| own(name));
    Program {
        path: found.path.clone(),
        libc: match found.libc {
            inspect::Libc::Glibc => Libc::Glibc,
            inspect::Libc::Musl => Libc::Musl,
            inspect::Libc::Static if own(MUSL) => Libc::Musl,
            _ => Libc::Unknown,
        },
        is_static: found.interpreter.is_none(),
        is_privileged: found.privileges.any(),
        exports_malloc: found.exports_malloc,
        allocators: allocators
            .map(|own| OwnAllocator {
                name: own.name,
                symbol: own.evidence.symbol().unwrap_or_default().into(),
            })
            .collect(),
        sanitizers: linked.collect(),
    }
}

/// Adds it to the facts about a command, with the libraries that it is linked with.
pub(crate) fn add(found: &Executable, facts: &mut Facts) {
    let needed = found.needed.iter().map(|name| Library { path: name.into(), origin: Origin::Needed });
    facts.libraries.extend(needed);
    facts.program = Some(of_executable(found));
}

/// Whether what is preloaded takes the place of its allocation functions.
pub(crate) fn takes_preloads(program: &Program) -> bool {
    let own = program.exports_malloc || !program.allocators.is_empty() || !program.sanitizers.is_empty();
    program.libc == Libc::Glibc && !program.is_static && !program.is_privileged && !own
}
