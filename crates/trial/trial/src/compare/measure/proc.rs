//! What `/proc` says of a process.

use crate::compare::Memory;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The unit of processor times in `/proc`, the same on all machines of this processor.
pub(super) const TICK: Duration = Duration::from_millis(10);

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
    /// Whether any library is there beside the loader, which comes before all of them. What is preloaded comes before what the
    /// program is linked with.
    pub(super) has_any_library: bool,
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
            found.has_any_library = true;
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_library = name.ends_with(".so") || name.contains(".so.");
        found.has_any_library |= is_library && !name.starts_with("ld-linux") && !name.starts_with("ld-2.");
        let is_allocator = heapwise_allocators::replaces_malloc(&name);
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

/// What the kernel says of a process in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Whether it has ended and only waits to be waited for.
    pub(super) has_ended: bool,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// When it began, in ticks since the machine did: with its id, it names it for good.
    pub(super) began: u64,
    /// Processor time of its own.
    pub(super) own: Duration,
    /// Processor time of the children that it waited for, with theirs.
    pub(super) waited_for: Duration,
}

/// Looks at a process; `None` for one that is gone.
pub(super) fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(stat: &str) -> Option<Stat> {
    // The second field is the name in parentheses, which may contain any.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
    let ticks = |at: usize| Some(TICK * u32::try_from(number(at)?).ok()?);
    Some(Stat {
        has_ended: matches!(*fields.first()?, "Z" | "X"),
        parent: number(1)? as i32,
        group: number(2)? as i32,
        began: fields.get(19)?.parse().ok()?,
        own: ticks(11)? + ticks(12)?,
        waited_for: ticks(13)? + ticks(14)?,
    })
}

/// Whether a process ignores the ends of its children: the kernel then forgets what they needed.
pub(super) fn ignores_children(pid: i32) -> bool {
    let ignored = std::fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(line.trim(), 16).ok()
    });
    ignored.is_some_and(|set| set >> (libc::SIGCHLD - 1) & 1 == 1)
}

/// Whether a process was started with this variable, `NAME=VALUE`.
pub(super) fn has_variable(pid: i32, variable: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
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
        assert!(stat(pid).is_some_and(|stat| !stat.has_ended) && stat(i32::MAX).is_none());
        assert!(
            has_variable(pid, &format!("PATH={}", std::env::var("PATH").unwrap()))
                && !has_variable(pid, "PATH")
        );
        assert_eq!(mapped(pid, None).unwrap().has_library, None);
    }

    #[test]
    fn a_name_cannot_forge_the_other_fields_of_a_process() {
        let line = "7 (a) Z 1 (b) S 12 34 34 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 1 0 98765 1 1";
        let stat = parse_stat(line).unwrap();
        assert_eq!((stat.has_ended, stat.parent, stat.group, stat.began), (false, 12, 34, 98765));
        assert_eq!((stat.own, stat.waited_for), (Duration::from_secs(2), Duration::from_millis(100)));
        assert_eq!(parse_stat("7 (a) S 1"), None);
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
        let other = parse_maps(maps, Some(Path::new("/other.so")));
        assert_eq!((other.has_library, other.has_any_library), (Some(false), true));
        let early = "7f00-7f01 r-xp 00000000 fe:01 12   /usr/bin/true\n\
                     7f01-7f02 r-xp 00000000 fe:01 12   /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n";
        let early = parse_maps(early, Some(Path::new("/other.so")));
        assert_eq!((early.has_library, early.has_any_library), (Some(false), false));
    }
}
