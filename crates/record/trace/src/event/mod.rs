//! The events of a recorded thread.
//!
//! [`kinds`] describes each kind in one place: of what it consists, and which part of it goes where in the words of a ring and
//! in the columns of a file. Whatever writes or reads an event ([`crate::live::words`], [`crate::file::columns`]) follows that
//! description through the traits of [`codec`].

pub(crate) mod codec;
mod fields;
mod kinds;

pub use fields::{AllocFunction, BlockAddress, Epoch, MarkId, MarkKind, StackId, TouchedPages};
pub use kinds::Event;
