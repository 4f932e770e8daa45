//! The ring and the trie of the recorder, compiled once more with nothing of a process around them.
//!
//! With `--cfg loom` the atomics are those of the model checker, which tries every schedule of a few threads and every value
//! that a load may see (`cargo xtask test --only model`). Without it the same tests run with real threads, many times: by
//! themselves, under ThreadSanitizer and under Miri, none of which can run the recorder itself.

#![expect(unsafe_code, reason = "compiles files of the recorder, and hands them memory")]

#[path = "../../../crates/record/recorder/src/ring.rs"]
pub mod ring;
#[path = "../../../crates/record/recorder/src/trie.rs"]
pub mod trie;

mod explore;
mod ring_memory;
mod trie_memory;

pub use explore::{Arc, explore, thread};
pub use ring_memory::{Reader, RingMemory, Sleeper};
pub use trie_memory::TrieMemory;
