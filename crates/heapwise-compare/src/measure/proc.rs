//! What `/proc` says of a process.

use crate::Memory;
use std::path::{Path, PathBuf};

/// Resident bytes by the quick count, in pages.
pub(super) fn rss_bytes(pid: i32, page_bytes: u64) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * page_bytes)
}

/// Resident memory by the exact count. With `shared` divided, each page that others have too counts as its share.
pub(super) fn memory(pid: i32, divide_shared: bool) -> Option<Memory> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    parse_rollup(&text, divide_shared)
}

fn parse_rollup(text: &str, divide_shared: bool) -> Option<Memory> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
    };
    let rss_bytes = field(if divide_shared { "Pss" } else { "Rss" })?;
    Some(Memory { rss_bytes, lazily_freed_bytes: field("LazyFree") })
}

/// The most resident bytes that the process had since it became this program.
pub(super) fn high_water_mark(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// What of a process's mappings concerns allocators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapped {
    /// Whether the library that was asked for is there.
    pub(super) has_library: Option<bool>,
    /// The program that the process is.
    pub(super) executable: Option<PathBuf>,
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

/// A path as the kernel tells it of a mapping: without links. What a descriptor leads to need not be a file in a folder:
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
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_library = name.ends_with(".so") || name.contains(".so.");
        let is_allocator = heapwise_environment::facts::OTHER_ALLOCATORS.iter().any(|a| name.contains(a));
        if is_library && is_allocator && !found.allocators.iter().any(|known| known == name) {
            found.allocators.push(name.to_owned());
        }
    }
    found
}

/// Processes that a process started and that are there, by all its threads.
pub(super) fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut all = Vec::new();
    for task in tasks.flatten() {
        let Ok(text) = std::fs::read_to_string(task.path().join("children")) else { continue };
        all.extend(text.split_whitespace().filter_map(|id| id.parse::<i32>().ok()));
    }
    all
}

/// When a process began, in ticks since the machine did: with its id, it names it for good. `None` for one that is gone, or
/// only waits to be waited for.
pub(super) fn began(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses, which may contain any.
    let rest = &stat[stat.rfind(')')? + 1..];
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_known() {
        let pid = std::process::id() as i32;
        let memory = memory(pid, false).unwrap();
        assert!(memory.rss_bytes > 1 << 20 && memory.lazily_freed_bytes.is_some(), "{memory:?}");
        assert!(high_water_mark(pid).unwrap() > 1 << 20);
        assert!(rss_bytes(pid, 4096).unwrap() > 1 << 20);
        assert!(began(pid).is_some() && began(i32::MAX).is_none());
        assert_eq!(mapped(pid, None).unwrap().has_library, None);
    }

    #[test]
    fn a_rollup_has_what_was_freed_lazily() {
        let text = "5500-7ffc ---p 00000000 00:00 0 [rollup]\nRss:     2048 kB\nPss:   1024 kB\nLazyFree:     512 kB\n";
        let memory = parse_rollup(text, false).unwrap();
        assert_eq!((memory.rss_bytes, memory.lazily_freed_bytes), (2 << 20, Some(512 << 10)));
        assert_eq!(memory.held_bytes(), (2 << 20) - (512 << 10));
        assert_eq!(parse_rollup(text, true).unwrap().rss_bytes, 1 << 20);
        assert_eq!(parse_rollup("", false), None);
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
        assert_eq!(parse_maps(maps, Some(Path::new("/other.so"))).has_library, Some(false));
    }
}
