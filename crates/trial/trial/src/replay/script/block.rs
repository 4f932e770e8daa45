//! A block while a recording is compiled.

use super::streams::Position;

/// A live block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) slot: u32,
    pub(super) generation: u16,
    /// Who filled the slot last.
    pub(super) thread: u32,
    pub(super) size: u64,
    /// The record that asked for it, of a large block.
    pub(super) asked: Option<Position>,
}
