//! What of a process's mappings concerns allocators.

use std::path::{Path, PathBuf};

/// More are not kept.
const MOST_LIBRARIES: usize = 4096;

/// What of a process's mappings concerns allocators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapped {
    /// Whether the requested library is there.
    pub(super) has_library: Option<bool>,
    /// Whether any library other than the loader, which comes before all of them, is there. What is preloaded comes before what
    /// the program is linked with.
    pub(super) has_any_library: bool,
    /// The program that the process is.
    pub(super) executable: Option<PathBuf>,
    /// The libraries, each once.
    pub(super) libraries: Vec<PathBuf>,
    /// Names of files that look like allocators.
    pub(super) allocators: Vec<String>,
}

/// Looks at the mappings of a process. `None` if it may not be looked at, or has none any more.
pub(super) fn mapped(pid: i32, library: Option<&Path>) -> Option<Mapped> {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).ok()?;
    if maps.is_empty() {
        return None;
    }
    let executable = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let seen = parse_maps(&String::from_utf8_lossy(&maps), library.map(resolved).as_deref());
    Some(Mapped { executable, ..seen })
}

/// A path as the kernel reports it for a mapping: without links. What a descriptor leads to need not be a file in a folder:
/// `/memfd:name`.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| path.read_link()).map_or_else(
        |_| path.to_owned(),
        |path| path.to_str().map_or_else(|| path.clone(), |text| without_mark(text).into()),
    )
}

/// A path without what the kernel appends to that of a file that has no name any more.
fn without_mark(path: &str) -> &str {
    path.strip_suffix(" (deleted)").unwrap_or(path)
}

fn parse_maps(maps: &str, library: Option<&Path>) -> Mapped {
    let mut found = Mapped { has_library: library.map(|_| false), ..Mapped::default() };
    for line in maps.lines() {
        // Five fields, then the path, which may contain spaces.
        let Some(at) = line.find('/') else { continue };
        let path = without_mark(&line[at..]);
        if library.is_some_and(|library| library.to_string_lossy() == path) {
            found.has_library = Some(true);
            found.has_any_library = true;
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_library = name.ends_with(".so") || name.contains(".so.");
        found.has_any_library |= is_library && !name.starts_with("ld-linux") && !name.starts_with("ld-2.");
        if is_library
            && found.libraries.last().is_none_or(|last| last != Path::new(path))
            && found.libraries.len() < MOST_LIBRARIES
        {
            found.libraries.push(path.into());
        }
        let is_allocator = heapwise_allocators::replaces_malloc(name);
        if is_library && is_allocator && !found.allocators.iter().any(|known| known == name) {
            found.allocators.push(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_can_be_looked_at() {
        assert_eq!(mapped(std::process::id() as i32, None).unwrap().has_library, None);
        assert_eq!(mapped(i32::MAX, None), None);
    }

    #[test]
    fn mappings_tell_the_library_and_other_allocators() {
        let maps = "7f00-7f01 r-xp 00000000 fe:01 12   /usr/lib/libjemalloc.so.2\n\
                    7f01-7f02 rw-p 00000000 fe:01 12   /usr/lib/libjemalloc.so.2\n\
                    7f02-7f03 r-xp 00000000 fe:01 13   /a folder/libmine.so (deleted)\n\
                    7f03-7f04 r--p 00000000 fe:01 14   /home/u/jemalloc-notes.txt\n\
                    7f04-7f05 rw-p 00000000 00:00 0    [heap]\n";
        let found = parse_maps(maps, Some(Path::new("/a folder/libmine.so")));
        assert_eq!(
            (found.has_library, &found.allocators[..]),
            (Some(true), &["libjemalloc.so.2".to_owned()][..])
        );
        assert_eq!(
            found.libraries,
            [Path::new("/usr/lib/libjemalloc.so.2")],
            "but the one that was requested"
        );
        let other = parse_maps(maps, Some(Path::new("/other.so")));
        assert_eq!((other.has_library, other.has_any_library), (Some(false), true));
        let early = "7f00-7f01 r-xp 00000000 fe:01 12   /usr/bin/true\n\
                     7f01-7f02 r-xp 00000000 fe:01 12   /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n";
        let early = parse_maps(early, Some(Path::new("/other.so")));
        assert_eq!((early.has_library, early.has_any_library), (Some(false), false));
    }
}
