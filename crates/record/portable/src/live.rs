//! The noted blocks that are live, so that a free knows whether it is one's: [`Noted`] in this process.
//!
//! Where all blocks are noted, every free is, and nothing of this is needed.

use super::system::Lines;
use super::{sampler, system};
use heapwise_trace::sampling::noted::{self, CLASSES, Noted};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{PoisonError, RwLock};

static CLASSES_OF_BLOCKS: [AtomicU8; CLASSES] = [const { AtomicU8::new(0) }; CLASSES];
/// None if all blocks are noted, or nothing is sampled. Written to only before and after a recording.
static LINES: RwLock<Lines> = RwLock::new(Lines::NONE);

/// Makes room, before a recording begins.
pub(super) fn prepare(sample_bytes: u64) {
    // What is live may be all that the system has.
    let memory = system::memory_bytes().unwrap_or(noted::USUAL_BYTES);
    let count = if sample_bytes > 1 { noted::lines(sample_bytes, memory) } else { 0 };
    set(Lines::new(count));
}

/// Forgets everything, when a recording is over.
pub(super) fn clear() {
    set(Lines::NONE);
}

fn set(lines: Lines) {
    let before = std::mem::replace(&mut *LINES.write().unwrap_or_else(PoisonError::into_inner), lines);
    // Not while they are locked: this thread's allocator asks for them.
    drop(before);
    CLASSES_OF_BLOCKS.iter().for_each(|class| class.store(0, Ordering::Relaxed));
}

/// What is asked of the noted blocks; `None` if there are no places for any.
fn ask<T>(question: impl FnOnce(Noted<'_>) -> T) -> Option<T> {
    let lines = LINES.read().unwrap_or_else(PoisonError::into_inner);
    Noted::new(&CLASSES_OF_BLOCKS, lines.as_slice()).map(question)
}

/// Whether this may be a noted block.
#[inline]
pub(super) fn may_have(block: *mut u8) -> bool {
    sampler::always_wins() || noted::may_have(&CLASSES_OF_BLOCKS, block as u64)
}

/// Remembers a block; `false` if there is no room. Its address is not known to other threads yet.
pub(super) fn insert(address: usize) -> bool {
    ask(|noted| noted.insert(address as u64)).unwrap_or(true)
}

/// Forgets a block that is freed; `false` if it was none of those that are noted.
pub(super) fn remove(address: usize) -> bool {
    ask(|noted| noted.remove(address as u64)).unwrap_or(true)
}

/// Whether it is a noted block that is live. `None` if all are noted, or nothing is.
pub(super) fn contains(address: u64) -> Option<bool> {
    ask(|noted| noted.contains(address))
}

/// Bytes of all this.
pub(super) fn bytes() -> u64 {
    let lines = LINES.read().unwrap_or_else(PoisonError::into_inner);
    (size_of_val(lines.as_slice()) + CLASSES) as u64
}
