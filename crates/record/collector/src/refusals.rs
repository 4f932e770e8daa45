//! What was not believed, and why: reported at the end of the recording, once for each kind.
//!
//! Whatever a recorded program writes to the shared memory may be wrong, by accident or on purpose. What is refused is
//! counted here, so that no refusal is silent, and however often it happens it takes the same memory.

use heapwise_trace::file::records::Refusal;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refused {
    /// The list of processes leads to a place where no process can be, or back to one that it has been at.
    List,
    /// A process that is not the one that it says it is, or joins in the future, or more than the system has started.
    Join,
    /// A part of the shared memory that is another process's, or no part at all.
    Arena,
    /// A ring that lies outside of its process's memory or upon another one, or whose numbers contradict each other.
    Ring,
    /// A chunk of nodes of the same kind, or nodes that were never written.
    Nodes,
    /// Threads that the system has never started, or that begin in the future.
    Threads,
    /// Words that are no events.
    Events,
    /// The clock or the constants of the session.
    Session,
    /// An allocator's library that is not run here.
    Sizes,
}

impl Refused {
    fn what(self) -> &'static str {
        match self {
            Self::List => "the list of processes",
            Self::Join => "a process",
            Self::Arena => "memory of a process",
            Self::Ring => "a ring of events",
            Self::Nodes => "nodes of stacks",
            Self::Threads => "threads",
            Self::Events => "events",
            Self::Session => "the session's header",
            Self::Sizes => "block sizes of an allocator",
        }
    }
}

/// All that was refused: how often, and why the first time.
#[derive(Debug, Default)]
pub(crate) struct Refusals(BTreeMap<Refused, (u64, String)>);

impl Refusals {
    /// Notes one. `why` is asked for once of each kind.
    pub(crate) fn note(&mut self, what: Refused, why: impl FnOnce() -> String) {
        match self.0.entry(what) {
            Entry::Occupied(mut entry) => entry.get_mut().0 += 1,
            Entry::Vacant(entry) => _ = entry.insert((1, why())),
        }
    }

    /// As the recording has them.
    pub(crate) fn into_records(self) -> Vec<Refusal> {
        let records = self.0.into_iter().map(|(refused, (count, why))| Refusal {
            what: refused.what().to_owned(),
            why,
            count,
        });
        records.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_reported_once_with_its_first_reason() {
        let mut refusals = Refusals::default();
        (0..1000).for_each(|n| refusals.note(Refused::Ring, || format!("reason {n}")));
        refusals.note(Refused::List, || "a cycle".into());
        let records = refusals.into_records();
        let records: Vec<_> = records.iter().map(|r| (r.what.as_str(), r.why.as_str(), r.count)).collect();
        assert_eq!(
            records,
            [("the list of processes", "a cycle", 1), ("a ring of events", "reason 0", 1000)]
        );
    }
}
