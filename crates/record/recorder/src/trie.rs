//! The trie of stacks of this process, in the session's memory.
//!
//! Nodes are only added, at the end of an array in chunks. An index finds a node by its parent and key: tables of
//! doubling size, each an array of buckets of one cache line. A node is looked for in the first table, then in the
//! second and so on; it is added to the first table whose bucket has room, and a table is made when it is first
//! needed. Nothing moves and nothing is locked but for making chunks and tables: two threads that add the same node at
//! the same time may both succeed, and the reader treats the twins as one.

use crate::lock::Held;
use crate::process::PROCESS;
use crate::real;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use heapwise_trace::event::StackId;
use heapwise_trace::live::layout::{
    BUCKET_ENTRIES, Bucket, FIRST_TABLE_BUCKETS, MAX_INDEX_TABLES, MAX_NODE_CHUNKS, NODES_PER_CHUNK,
    NodeRecord,
};
use heapwise_trace::live::node::{ADDRESS_MASK, root_key};

/// Pointers into the arenas. All zeroes until [`Trie::begin`].
#[derive(Debug)]
#[repr(C)]
pub struct Trie {
    tables: [AtomicPtr<Bucket>; MAX_INDEX_TABLES],
    chunks: [AtomicPtr<NodeRecord>; MAX_NODE_CHUNKS],
    /// Roots of the current generation: whole and cut.
    roots: [AtomicU32; 2],
}

/// A thread's memory of the nodes that it used last: the trie itself is spread over more cache lines than fit near a
/// processor. Zeroed memory is an empty one (no node has key 0), and a null pointer one that remembers nothing.
#[derive(Debug)]
#[repr(C)]
pub struct NodeCache(*mut [CachedNode; CACHED_NODES]);

const CACHED_NODES: usize = 16 << 10;

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct CachedNode {
    key: u64,
    parent: u32,
    id: u32,
}

impl NodeCache {
    /// Bytes that it takes.
    pub const BYTES: usize = size_of::<[CachedNode; CACHED_NODES]>();

    /// Begins with this memory.
    ///
    /// # Safety
    /// `at` is null, or the start of so many zeroed bytes, aligned to eight, which belong to this from now on.
    pub unsafe fn begin(&mut self, at: *mut u8) {
        self.0 = at.cast();
    }

    fn all(&mut self) -> Option<&mut [CachedNode; CACHED_NODES]> {
        // SAFETY: null, or memory that belongs to this, which is borrowed exclusively; any bytes are valid.
        unsafe { self.0.as_mut() }
    }

    /// The node for `key` called from `parent`, from memory or from the trie.
    #[inline(always)]
    pub fn node(&mut self, parent: StackId, key: u64) -> StackId {
        let Some(all) = self.all() else { return PROCESS.trie.node(parent, key) };
        let cached = &mut all[cache_index(parent.0, key)];
        if cached.key != key || cached.parent != parent.0 {
            let id = PROCESS.trie.node(parent, key);
            *cached = CachedNode { key, parent: parent.0, id: id.0 };
        }
        StackId(cached.id)
    }

    /// Forgets everything: the ids belong to another process's trie.
    pub fn forget(&mut self) {
        if let Some(all) = self.all() {
            all.fill(CachedNode::default());
        }
    }
}

/// PERF: frames are looked up one after the other, each with the node of the last one as its parent. So only one
/// multiplication may wait for the parent; the trie's own hash has three.
#[inline(always)]
fn cache_index(parent: u32, key: u64) -> usize {
    let key = key.wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = u64::from(parent).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(key);
    (mixed >> (u64::BITS - CACHED_NODES.trailing_zeros())) as usize
}

/// Both halves have to reach all bits: the low ones choose the bucket, the high ones tell its entries apart.
fn hash(parent: u32, key: u64) -> u64 {
    // The multiplier of the first line is the golden ratio's, that of the rounds is Degski's 64-bit mixer's.
    let mut x = key ^ u64::from(parent).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

impl Trie {
    /// No memory yet.
    pub const fn new() -> Self {
        Self {
            tables: [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_INDEX_TABLES],
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_NODE_CHUNKS],
            roots: [const { AtomicU32::new(0) }; 2],
        }
    }

    /// Makes the first table, the first chunk and the roots of generation 0.
    pub fn begin(&self, held: &Held<'_>) -> Option<()> {
        self.make_table(held, 0)?;
        self.make_chunk(held, 0)?;
        self.begin_generation(held, 0)
    }

    /// Makes the roots of a generation; stacks found from now on hang below them.
    pub fn begin_generation(&self, held: &Held<'_>, generation: u32) -> Option<()> {
        for (cut, root) in [false, true].into_iter().zip(&self.roots) {
            let id = self.add(Some(held), 0, root_key(generation, cut))?;
            root.store(id, Ordering::Release);
        }
        Some(())
    }

    /// The root of whole or of cut stacks.
    pub fn root(&self, cut: bool) -> StackId {
        StackId(self.roots[usize::from(cut)].load(Ordering::Acquire))
    }

    /// The node for `key` called from `parent`; [`StackId::UNKNOWN`] if there is no memory for another node. Stacks are told
    /// without the frames of the preload library itself: these have their caller's node.
    #[inline(never)]
    pub fn node(&self, parent: StackId, key: u64) -> StackId {
        if real::is_own_code((key & ADDRESS_MASK) as usize) {
            return parent;
        }
        StackId(self.add(None, parent.0, key).unwrap_or(0))
    }

    #[inline(always)]
    fn record(&self, id: u32) -> Option<&NodeRecord> {
        let chunk = self.chunks.get((id / NODES_PER_CHUNK) as usize)?.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a chunk holds this many records of atomics and is never unmapped.
        Some(unsafe { &*chunk.add((id % NODES_PER_CHUNK) as usize) })
    }

    fn is(&self, id: u32, parent: u32, key: u64) -> bool {
        self.record(id).is_some_and(|record| {
            record.key.load(Ordering::Acquire) == key && record.parent.load(Ordering::Relaxed) == parent
        })
    }

    /// Finds or adds a node. The lock may be held already (by whoever makes roots).
    fn add(&self, held: Option<&Held<'_>>, parent: u32, key: u64) -> Option<u32> {
        let hash = hash(parent, key);
        let tag = hash & 0xffff_ffff_0000_0000;
        let mut fresh = None;
        for table in 0..MAX_INDEX_TABLES {
            let mut buckets = self.tables[table].load(Ordering::Acquire);
            if buckets.is_null() {
                buckets = self.with_lock(held, |held| self.make_table(held, table))?;
            }
            let index = hash as usize & ((FIRST_TABLE_BUCKETS << table) - 1);
            // SAFETY: the table has this many buckets of atomics and is never unmapped.
            let bucket = unsafe { &*buckets.add(index) };
            for slot in &bucket.0[..BUCKET_ENTRIES] {
                let mut entry = slot.load(Ordering::Acquire);
                if entry == 0 {
                    let id = match fresh {
                        Some(id) => id,
                        None => self.append(held, parent, key)?,
                    };
                    fresh = Some(id);
                    let wanted = tag | u64::from(id);
                    match slot.compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Acquire) {
                        Ok(_) => return Some(id),
                        Err(other) => entry = other,
                    }
                }
                if entry & 0xffff_ffff_0000_0000 == tag && self.is(entry as u32, parent, key) {
                    return Some(entry as u32);
                }
            }
        }
        None
    }

    fn append(&self, held: Option<&Held<'_>>, parent: u32, key: u64) -> Option<u32> {
        let header = PROCESS.header()?;
        let id = header.node_count.fetch_add(1, Ordering::AcqRel);
        let chunk = (id / NODES_PER_CHUNK) as usize;
        if chunk >= MAX_NODE_CHUNKS {
            header.node_count.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        if self.record(id).is_none() {
            self.with_lock(held, |held| self.make_chunk(held, chunk))?;
        }
        let record = self.record(id)?;
        record.parent.store(parent, Ordering::Relaxed);
        record.key.store(key, Ordering::Release);
        Some(id)
    }

    fn with_lock<T>(&self, held: Option<&Held<'_>>, make: impl FnOnce(&Held<'_>) -> Option<T>) -> Option<T> {
        match held {
            Some(held) => make(held),
            None => make(&PROCESS.lock.acquire()?),
        }
    }

    #[cold]
    fn make_table(&self, held: &Held<'_>, table: usize) -> Option<*mut Bucket> {
        let made = self.tables[table].load(Ordering::Acquire);
        if !made.is_null() {
            return Some(made);
        }
        let extent = PROCESS.allocate(held, size_of::<Bucket>() * (FIRST_TABLE_BUCKETS << table))?;
        PROCESS.header()?.index_tables[table].store(extent.offset, Ordering::Release);
        self.tables[table].store(extent.at.cast(), Ordering::Release);
        Some(extent.at.cast())
    }

    #[cold]
    fn make_chunk(&self, held: &Held<'_>, chunk: usize) -> Option<()> {
        if !self.chunks[chunk].load(Ordering::Acquire).is_null() {
            return Some(());
        }
        let extent = PROCESS.allocate(held, size_of::<NodeRecord>() * NODES_PER_CHUNK as usize)?;
        PROCESS.header()?.node_chunks[chunk].store(extent.offset, Ordering::Release);
        self.chunks[chunk].store(extent.at.cast(), Ordering::Release);
        Some(())
    }
}

impl Default for Trie {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn few_addresses_in_many_contexts_are_spread_over_all_buckets() {
        let keys: Vec<u64> = (0..12).map(|i| 0x5555_5555_5000 + i * 37).collect();
        let all: HashSet<u64> =
            (0..4096u32).flat_map(|parent| keys.iter().map(move |&key| hash(parent, key))).collect();
        assert_eq!(all.len(), 12 * 4096, "no two are the same");
        let buckets: HashSet<u64> = all.iter().map(|h| h % FIRST_TABLE_BUCKETS as u64).collect();
        assert_eq!(buckets.len(), FIRST_TABLE_BUCKETS);
        let tags: HashSet<u64> = all.iter().map(|h| h >> 32).collect();
        assert!(tags.len() > 12 * 4096 * 99 / 100, "{} tags", tags.len());
    }
}
