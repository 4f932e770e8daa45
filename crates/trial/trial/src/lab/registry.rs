//! The table of experiments.

#[cfg(target_os = "linux")]
use crate::lab::async_server::ASYNC_SERVER;
#[cfg(target_os = "linux")]
use crate::lab::contest::CONTEST;
#[cfg(target_os = "linux")]
use crate::lab::cross_thread::CROSS_THREAD;
use crate::lab::debug_heap::DebugHeap;
#[cfg(target_os = "linux")]
use crate::lab::decay::DECAY;
use crate::lab::experiment::Experiment;
#[cfg(target_os = "linux")]
use crate::lab::fragmentation::FRAGMENTATION;
#[cfg(target_os = "linux")]
use crate::lab::habits::{BORROW, CAPACITY, CLONE, REUSE};
#[cfg(target_os = "linux")]
use crate::lab::madvise::MADVISE;
#[cfg(target_os = "linux")]
use crate::lab::maps::MAPS;
#[cfg(target_os = "linux")]
use crate::lab::shootout::SHOOTOUT;
#[cfg(target_os = "linux")]
use crate::lab::thp::THP;
#[cfg(target_os = "linux")]
use crate::lab::words::WORDS_COUNTED;

/// All that are known.
#[cfg(target_os = "linux")]
pub const EXPERIMENTS: &[&dyn Experiment] = &[
    &FRAGMENTATION,
    &ASYNC_SERVER,
    &SHOOTOUT,
    &CROSS_THREAD,
    &DECAY,
    &MADVISE,
    &THP,
    &CONTEST,
    &CLONE,
    &CAPACITY,
    &REUSE,
    &BORROW,
    &MAPS,
    &WORDS_COUNTED,
    &DebugHeap,
];

/// All that are known. An allocator can be put into a program, and memory be looked at, on Linux only.
#[cfg(not(target_os = "linux"))]
pub const EXPERIMENTS: &[&dyn Experiment] = &[&DebugHeap];

/// The experiment of a name.
pub fn experiment(name: &str) -> Option<&'static dyn Experiment> {
    EXPERIMENTS.iter().copied().find(|experiment| experiment.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<_> = EXPERIMENTS.iter().map(|e| e.name()).collect();
        assert_eq!(names.len(), EXPERIMENTS.len());
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        assert!(
            EXPERIMENTS.iter().all(|e| experiment(e.name()).is_some_and(|found| found.about() == e.about()))
        );
        assert!(experiment("nothing").is_none());
    }
}
