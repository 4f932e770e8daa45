//! The memory in which a trie grows, and what its reader finds there.

use crate::trie::Growth;
use heapwise_trace::live::atomics::{AtomicPtr, AtomicU32, Ordering};
use heapwise_trace::live::layout::{Bucket, MAX_NODE_CHUNKS, NODES_PER_CHUNK, NodeRecord};
#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
use std::cell::RefCell;
use std::ptr::null_mut;
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

/// Everything of a session that concerns one trie.
#[derive(Debug)]
pub struct TrieMemory {
    count: AtomicU32,
    /// As the offsets of chunks in the header of a process.
    chunks: Vec<AtomicPtr<NodeRecord>>,
    made: Mutex<RefCell<Made>>,
}

/// What was made so far.
#[derive(Debug, Default)]
pub struct Made {
    tables: Vec<*mut [Bucket]>,
    chunks: Vec<*mut [NodeRecord]>,
}

// SAFETY: the pointers are those of boxes that nothing else frees; what is in them is atomics.
unsafe impl Send for Made {}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: made by `leak`, and freed here alone. The trie is not used any more.
        self.tables.drain(..).for_each(|table| drop(unsafe { Box::from_raw(table) }));
        // SAFETY: as above.
        self.chunks.drain(..).for_each(|chunk| drop(unsafe { Box::from_raw(chunk) }));
    }
}

fn leak<T: Default>(count: usize) -> *mut [T] {
    Box::into_raw((0..count).map(|_| T::default()).collect())
}

impl TrieMemory {
    /// Memory with room for so many chunks.
    pub fn new(chunks: usize) -> Self {
        let chunks = (0..chunks.min(MAX_NODE_CHUNKS)).map(|_| AtomicPtr::new(null_mut())).collect();
        Self { count: AtomicU32::new(1), chunks, made: Mutex::new(RefCell::default()) }
    }

    /// How many nodes there are, with the reserved one, as the reader sees it.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Key and parent of a node as the reader sees them; `None` if it was not written yet.
    pub fn node(&self, id: u32) -> Option<(u64, u32)> {
        let chunk = self.chunks.get((id / NODES_PER_CHUNK) as usize)?.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk has so many records, and is freed with this memory.
        let record = unsafe { &*chunk.add((id % NODES_PER_CHUNK) as usize) };
        let key = record.key.load(Ordering::Acquire);
        (key != 0).then(|| (key, record.parent.load(Ordering::Relaxed)))
    }
}

impl Growth for TrieMemory {
    type Held<'a> = MutexGuard<'a, RefCell<Made>>;

    fn node_count(&self) -> Option<&AtomicU32> {
        Some(&self.count)
    }

    fn hold(&self) -> Option<Self::Held<'_>> {
        self.made.lock().ok()
    }

    fn table(&self, held: &Self::Held<'_>, _index: usize, buckets: usize) -> Option<*mut Bucket> {
        let table = leak::<Bucket>(buckets);
        held.borrow_mut().tables.push(table);
        Some(table.cast())
    }

    fn chunk(&self, held: &Self::Held<'_>, index: usize) -> Option<*mut NodeRecord> {
        let slot = self.chunks.get(index)?;
        let chunk = leak::<NodeRecord>(NODES_PER_CHUNK as usize);
        held.borrow_mut().chunks.push(chunk);
        slot.store(chunk.cast(), Ordering::Release);
        Some(chunk.cast())
    }
}
