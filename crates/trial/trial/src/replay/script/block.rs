//! A block while a recording is compiled.

use super::streams::Position;

/// A live block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) slot: u32,
    pub(super) generation: u16,
    /// The thread that filled the slot last.
    pub(super) thread: u32,
    pub(super) size: u64,
    /// For a large block, the record that allocated it.
    pub(super) asked: Option<Position>,
}
