//! The shared memory between recorded processes and their collector.
//!
//! One anonymous, sparse file per session, made by the collector and mapped by every recorded process. A process takes
//! *arenas* from its end with one atomic addition, and lays out in them what it needs:
//!
//! ```text
//! 0        SessionHeader: clock, wake-up word, newest process, next free arena
//! arena    ProcessHeader: its ids, where its rings, nodes, index tables and modules are
//!          module log
//!          RingHeader and ring of its first thread
//!          first chunk of its trie's nodes, first index table
//!          …
//! arena    of another process, or more of the first one's
//! ```
//!
//! A process that marks moments (`heapwise_mark`) has a log of the names of its marks ([`marks`]), too.
//!
//! No arena is ever reused; the collector punches holes where a process has ended. Since the
//! memory belongs to the collector, a killed program loses nothing that it had published.
//!
//! *Publishing* is always: write the contents, then store a count or an offset with release ordering.

pub mod atomics;
pub mod hooks;
pub mod image;
pub mod layout;
pub mod marks;
pub mod node;
#[cfg(feature = "file")]
pub mod plan;
pub mod sizes;
pub mod stub;
pub mod traced;
pub mod words;
