//! From stack ids to frames with names.
//!
//! * A recording holds a trie of addresses per process ([`raw`]). Modules ([`modules`]) turn an address into a
//!   *location*: an image (path and build id) and an address as it was linked, which is the same in every process.
//! * The *stack_table* ([`stack_table`]) is one trie of locations for the whole recording.
//! * Symbols turn a location into source-level frames, several where functions were inlined ([`names`]).
//! * Code that draws stacks walks them as a tree ([`contexts`]).
//! * The *user's nearest frame* ([`owner`]) is the innermost one that the user wrote.

pub(crate) mod contexts;
pub(crate) mod frame;
pub(crate) mod modules;
pub(crate) mod names;
pub mod owner;
pub(crate) mod raw;
pub(crate) mod stack_table;
pub(crate) mod trie;
