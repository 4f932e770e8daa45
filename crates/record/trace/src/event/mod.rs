//! The events of a recorded thread.
//!
//! `kinds.rs` describes each kind in one place: what it consists of, and where its parts lie in the words of a ring and in the
//! columns of a file. [`crate::live::words`] and [`crate::file::columns`] write and read by that description.

pub(crate) mod codec;
mod fields;
mod kinds;

pub use fields::{
    AllocFunction, AllocatorNumber, BlockAddress, Epoch, MarkId, MarkKind, StackId, TouchedPages,
};
pub use kinds::Event;
