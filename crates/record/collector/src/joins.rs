//! Whether the process that a header names is the one that wrote it.
//!
//! A header is a claim. Only a process that has the session's memory mapped can have written it, so the kernel is asked:
//! the process of that id must map the header's arena. What is done beyond reading the header (looking at a process's
//! pages, ending the image that it had before, releasing its memory) is done to such a process alone.

use crate::maps;
use crate::sys;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The shared memory, as the kernel names it among a process's mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    device: (u32, u32),
    inode: u64,
}

impl Memory {
    /// That of an open file.
    pub(crate) fn of(facts: &fs::Metadata) -> Self {
        let device = facts.dev();
        Self { device: (libc::major(device), libc::minor(device)), inode: facts.ino() }
    }

    /// That of which a mapping of some process is a part.
    pub(crate) fn of_line(line: &maps::Line<'_>) -> Self {
        Self { device: line.device, inode: line.inode }
    }

    /// Whether a mapping is one of it.
    pub(crate) fn is_in(&self, line: &maps::Line<'_>) -> bool {
        line.inode == self.inode && line.device == self.device
    }

    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }
}

/// What the kernel says of a process and the shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// It maps these parts of it; none if it is another process, or another program was executed in it.
    Parts(Vec<Range<u64>>),
    /// There is no such process any more.
    Gone,
    /// It is there, and its mappings may not be read.
    Hidden,
}

impl Mapped {
    /// Asks about a process.
    pub(crate) fn of(pid: u32, memory: &Memory) -> Self {
        match maps_of(pid) {
            // A zombie has no mappings.
            Ok(text) if text.is_empty() => Self::Gone,
            Ok(text) => {
                let lines = text.lines().filter_map(maps::line).filter(|line| memory.is_in(line));
                Self::Parts(lines.map(|line| line.in_file()).collect())
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Self::Hidden,
            Err(_) => Self::Gone,
        }
    }

    /// Whether the beginning of a part of the memory is mapped, as recorders map an arena: as much of it as they need. `None` if
    /// that cannot be known.
    pub(crate) fn has(&self, part: &Range<u64>) -> Option<bool> {
        match self {
            Self::Parts(parts) => Some(parts.iter().any(|p| p.contains(&part.start))),
            Self::Gone => Some(false),
            Self::Hidden => None,
        }
    }
}

/// The mappings of a process, which are those of each of its threads. Its first thread has none any more when it has ended
/// before the others.
pub(crate) fn maps_of(pid: u32) -> io::Result<String> {
    // A name of a file may have any bytes.
    let read = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = read(Path::new(&format!("/proc/{pid}/maps")))?;
    if !text.is_empty() {
        return Ok(text);
    }
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let theirs = |thread: fs::DirEntry| read(&thread.path().join("maps")).ok();
    Ok(threads.filter_map(theirs).find(|text| !text.is_empty()).unwrap_or_default())
}

/// How far a process is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It maps the memory that it claims.
    Proven,
    /// It is there, and we may not see what it maps. It has our user, or we are root.
    Likely,
    /// It has ended or executed another program before it was seen: its memory is read once, and nothing is done to the
    /// process of its id, which may be another one.
    Departed,
}

impl Standing {
    /// Whether the process is there to be looked at.
    pub(crate) fn is_present(self) -> bool {
        self != Self::Departed
    }
}

/// Judges a header in `part` of the memory that names a process. `current` is the part of a process with that id that is
/// there already. The error says why the header is not believed.
pub(crate) fn judge(
    pid: u32,
    part: &Range<u64>,
    memory: &Memory,
    current: Option<&Range<u64>>,
) -> Result<Standing, String> {
    let mapped = Mapped::of(pid, memory);
    match (mapped.has(part), current.map(|current| mapped.has(current))) {
        (Some(true), Some(Some(true))) => {
            Err(format!("process {pid} has joined already, and still is the program that did"))
        }
        (Some(true), _) => Ok(Standing::Proven),
        (Some(false), Some(Some(true))) => Err(format!(
            "it names process {pid}, which has joined at another place and does not map this one"
        )),
        (has, _) if has != Some(true) && mapped != Mapped::Gone && is_older_than_we(pid) => Err(format!(
            "it names process {pid}, which was there before the recording and takes no part in it"
        )),
        (Some(false), _) => Ok(Standing::Departed),
        (None, _) => {
            let own = sys::effective_user();
            let is_ours = own == 0 || users(pid).is_some_and(|users| users[0] == own);
            match is_ours {
                true => Ok(Standing::Likely),
                false => Err(format!("it names process {pid}, which is another user's")),
            }
        }
    }
}

/// Real, effective, saved and file system user of a process.
fn users(pid: u32) -> Option<[u32; 4]> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace();
    let mut next = || ids.next()?.parse().ok();
    Some([next()?, next()?, next()?, next()?])
}

/// Whether a process has no user but ours, so that it can do nothing that we cannot, and the other way round.
pub(crate) fn is_wholly_ours(pid: u32) -> bool {
    users(pid).is_some_and(|users| users.iter().all(|&user| user == sys::effective_user()))
}

/// Whether a path means the same file to a process and to us: it has our mounts and our root.
pub(crate) fn shares_our_files(pid: u32) -> bool {
    let mounts = |who: &str| fs::read_link(format!("/proc/{who}/ns/mnt")).ok();
    let root = |path: &Path| fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()));
    let theirs = mounts(&pid.to_string());
    theirs.is_some()
        && theirs == mounts("self")
        && root(Path::new(&format!("/proc/{pid}/root"))) == root(Path::new("/"))
}

/// Whether a process has been there for longer than we have. The program and all that it starts come after us.
fn is_older_than_we(pid: u32) -> bool {
    let started = |who: &str| -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{who}/stat")).ok()?;
        // The name in parentheses may hold anything; the start time is the 20th field behind it.
        stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
    };
    match (started(&pid.to_string()), started("self")) {
        (Some(theirs), Some(ours)) => theirs < ours,
        _ => false,
    }
}

/// A process, and those that have started it one after the other.
pub(crate) fn line_of_parents(pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok().filter(|&parent| parent != 0)
    };
    std::iter::successors(Some(pid), parent).take(MOST_PARENTS).collect()
}

/// Far more than there are.
const MOST_PARENTS: usize = 4096;

/// Processes and threads that the system has started since it runs. `None` if the system does not report it.
pub(crate) fn ever_started() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("processes "))?.trim().parse().ok()
}

/// Threads that this process has now.
pub(crate) fn own_threads() -> u64 {
    fs::read_dir("/proc/self/task").map_or(1, |threads| threads.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Session, Settings};
    use heapwise_trace::live::layout::{ARENA_BYTES, SESSION_HEADER_BYTES};
    use std::process::Command;

    const FIRST: Range<u64> = SESSION_HEADER_BYTES..SESSION_HEADER_BYTES + ARENA_BYTES;
    const SECOND: Range<u64> = FIRST.end..FIRST.end + ARENA_BYTES;

    #[test]
    fn a_process_is_believed_where_it_maps_what_it_claims_and_nowhere_else() {
        let session = Session::new(Settings::default()).expect("shared memory");
        let (own, memory) = (std::process::id(), session.memory());
        let _mapping = session.map(FIRST.start).expect("it can be mapped");
        assert_eq!(judge(own, &FIRST, &memory, None), Ok(Standing::Proven));
        assert!(judge(own, &FIRST, &memory, Some(&FIRST)).is_err(), "it is there already");
        assert!(judge(own, &SECOND, &memory, Some(&FIRST)).is_err(), "another one writes in its name");
        assert_eq!(judge(own, &FIRST, &memory, Some(&SECOND)), Ok(Standing::Proven), "as after an exec");
        // Something that ran before us, and takes no part.
        assert!(judge(1, &FIRST, &memory, None).is_err());
    }

    #[test]
    fn a_process_that_is_gone_or_does_not_map_anything_is_not_touched() {
        let session = Session::new(Settings::default()).expect("shared memory");
        let mut child = Command::new("sleep").arg("60").spawn().expect("a child");
        let other = child.id();
        assert_eq!(judge(other, &FIRST, &session.memory(), None), Ok(Standing::Departed));
        child.kill().expect("it is ours");
        // Not waited for yet.
        while Mapped::of(other, &session.memory()) != Mapped::Gone {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(judge(other, &FIRST, &session.memory(), None), Ok(Standing::Departed));
        child.wait().expect("it ended");
        assert_eq!(judge(other, &FIRST, &session.memory(), None), Ok(Standing::Departed));
    }

    #[test]
    fn this_process_is_ours_with_our_files_and_has_threads() {
        let own = std::process::id();
        assert!(is_wholly_ours(own) && shares_our_files(own));
        assert!(own_threads() >= 1);
        let before = ever_started();
        std::thread::spawn(|| ()).join().expect("a thread");
        assert!(before < ever_started(), "threads are counted");
    }
}
