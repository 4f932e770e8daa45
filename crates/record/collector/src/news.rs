//! What is new in a process since it was last drained.

use heapwise_trace::file::records::{ModuleInfo, ThreadEnd, ThreadInfo};
use heapwise_trace::file::tables::{MarkNames, Nodes};

/// What draining a process yields besides events.
#[derive(Debug, Default)]
pub struct News {
    /// Threads that made their first event.
    pub threads: Vec<ThreadInfo>,
    /// Threads that are gone.
    pub thread_ends: Vec<ThreadEnd>,
    /// Modules that occur for the first time.
    pub modules: Vec<ModuleInfo>,
    /// Nodes that are new.
    pub nodes: Vec<Nodes>,
    /// Names of marks that are new.
    pub mark_names: Vec<MarkNames>,
}

impl News {
    /// Nodes that are new.
    pub fn node_count(&self) -> usize {
        self.nodes.iter().map(|nodes| nodes.nodes.len()).sum()
    }
}
