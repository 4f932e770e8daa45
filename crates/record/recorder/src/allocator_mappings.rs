//! What the real allocator maps for itself.
//!
//! From outside, the metadata that an allocator keeps in separate mappings looks like anything else that a program
//! maps. So calls of `mmap` are intercepted ([`crate::mappings`]), and those that come from the allocator's code are
//! noted. glibc's allocator does not call the interposed function; its mappings are recognised by their shape.

use crate::real;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heapwise_trace::live::layout::{MAX_ALLOCATOR_MAPPINGS, ProcessHeader};

/// Noted in the process's own memory first: an allocator maps before the process has joined, and a fork keeps them.
struct Noted {
    count: AtomicU32,
    /// Address, length, and where `mmap` was called.
    ranges: [[AtomicU64; 3]; MAX_ALLOCATOR_MAPPINGS],
}

static NOTED: Noted = Noted {
    count: AtomicU32::new(0),
    ranges: [const { [const { AtomicU64::new(0) }; 3] }; MAX_ALLOCATOR_MAPPINGS],
};

/// Notes one, and reports it to the collector if the process has joined already.
pub(crate) fn note(start: u64, len: u64, caller: u64, header: Option<&ProcessHeader>) {
    let index = NOTED.count.fetch_add(1, Ordering::Relaxed) as usize;
    let Some([at, size, from]) = NOTED.ranges.get(index) else {
        // Allocators map their metadata early; what comes after so many mappings are heaps, which are known by their
        // blocks.
        NOTED.count.store(MAX_ALLOCATOR_MAPPINGS as u32, Ordering::Relaxed);
        return;
    };
    at.store(start, Ordering::Relaxed);
    from.store(caller, Ordering::Relaxed);
    size.store(len, Ordering::Release);
    if let Some(header) = header {
        publish_one(header, index);
    }
}

/// Reports to the collector what was noted before the process joined.
pub(crate) fn publish(header: &ProcessHeader) {
    let count = (NOTED.count.load(Ordering::Relaxed) as usize).min(MAX_ALLOCATOR_MAPPINGS);
    (0..count).for_each(|index| publish_one(header, index));
}

fn publish_one(header: &ProcessHeader, index: usize) {
    let [start, len, caller] = &NOTED.ranges[index];
    if !real::is_allocator_code(caller.load(Ordering::Relaxed) as usize) {
        return;
    }
    let [to_start, to_len] = &header.allocator_mappings[index];
    let len = len.load(Ordering::Acquire);
    to_start.store(start.load(Ordering::Relaxed), Ordering::Relaxed);
    to_len.store(len, Ordering::Release);
}
