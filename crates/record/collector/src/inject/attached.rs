//! A process with the recorder in it.

use super::guest::Image;
use std::ops::Range;

/// How the kernel shows the shared memory among the mappings of a process.
pub(super) const SHOWN_NAME: &str = "/memfd:heapwise-session (deleted)";

/// A process with the recorder in it.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    pub(super) placed: Image,
    pub(super) session: Range<u64>,
    pub(super) rooms: Vec<Range<u64>>,
}
