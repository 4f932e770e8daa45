//! Processes that know themselves and their threads by other ids than we do: those of another pid namespace.
//!
//! What they write into the shared memory are their ids. The kernel says which process here is the one that calls itself so there.

use crate::joins::{Mapped, Memory};
use std::fs;
use std::path::{Path, PathBuf};

/// The namespace of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherIds {
    /// As the kernel shows it.
    namespace: PathBuf,
}

impl OtherIds {
    /// That of a process; `None` if only its user can read it.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        namespace_of(pid).map(|namespace| Self { namespace })
    }

    /// The process that calls itself so, and has a part of the shared memory.
    pub(crate) fn process(&self, inner: u32, memory: &Memory) -> Option<u32> {
        ids(Path::new("/proc")).find(|&pid| {
            inner_id(&format!("/proc/{pid}/status")) == Some(inner)
                && namespace_of(pid).as_ref() == Some(&self.namespace)
                && Mapped::of(pid, memory).has(&(0..1)) == Some(true)
        })
    }
}

/// The thread of a process that calls itself so.
pub(crate) fn thread(pid: u32, inner: u32) -> Option<u32> {
    let tasks = PathBuf::from(format!("/proc/{pid}/task"));
    ids(&tasks).find(|thread| inner_id(&format!("/proc/{pid}/task/{thread}/status")) == Some(inner))
}

/// What a process or thread calls itself: its id in the innermost of its namespaces.
pub(crate) fn inner_id(status: &str) -> Option<u32> {
    let text = fs::read_to_string(status).ok()?;
    text.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().last()?.parse().ok()
}

fn namespace_of(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

fn ids(folder: &Path) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Session, Settings};

    #[test]
    fn who_has_the_memory_is_found_by_the_id_that_it_calls_itself() {
        let own = std::process::id();
        let session = Session::new(Settings::default()).expect("shared memory");
        let ids = OtherIds::of(own).expect("it is our own");
        let inner = inner_id("/proc/self/status").expect("the kernel says so");
        assert_eq!(ids.process(inner, &session.memory()), Some(own), "its header is mapped here");
        assert_eq!(ids.process(u32::MAX, &session.memory()), None);
        assert_eq!(thread(own, inner), Some(own));
    }
}
