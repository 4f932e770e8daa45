//! The trie of stacks of this process, in the session's memory.
//!
//! Nodes are only added, at the end of an array in chunks. An index finds a node by its parent and key: tables of
//! doubling size, each an array of buckets of one cache line. A node is looked for in the first table, then in the
//! second and so on; it is added to the first table whose bucket has room, and a table is made when it is first
//! needed. Nothing moves and nothing is locked but for making chunks and tables: two threads that add the same node at
//! the same time may both succeed, and get either of the twins later. The reader treats them as one.
//!
//! The memory is behind [`Growth`], so a trie knows nothing of the process: `tests/models` compiles this file once more, for a
//! model checker.

use heapwise_trace::event::StackId;
use heapwise_trace::live::atomics::{AtomicPtr, AtomicU32, Ordering};
use heapwise_trace::live::layout::{
    BUCKET_ENTRIES, Bucket, FIRST_TABLE_BUCKETS, MAX_INDEX_TABLES, MAX_NODE_CHUNKS, NODES_PER_CHUNK,
    NodeRecord,
};
use heapwise_trace::live::node::root_key;

/// The memory in which a trie grows. What it hands out is zeroed, published to the reader, and valid as long as the
/// trie.
pub trait Growth {
    /// Proof that no other thread is making tables or chunks.
    type Held<'a>
    where
        Self: 'a;

    /// Nodes that there are, with the reserved node 0. `None` where there is no memory at all.
    fn node_count(&self) -> Option<&AtomicU32>;
    /// Keeps others from making tables and chunks; `None` if they do not let go.
    fn hold(&self) -> Option<Self::Held<'_>>;
    /// An index table of so many buckets.
    fn table(&self, held: &Self::Held<'_>, index: usize, buckets: usize) -> Option<*mut Bucket>;
    /// A chunk of [`NODES_PER_CHUNK`] records.
    fn chunk(&self, held: &Self::Held<'_>, index: usize) -> Option<*mut NodeRecord>;
}

/// Pointers into the arenas. All zeroes until [`Trie::begin`].
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
#[repr(C)]
pub struct Trie {
    tables: [AtomicPtr<Bucket>; MAX_INDEX_TABLES],
    chunks: [AtomicPtr<NodeRecord>; MAX_NODE_CHUNKS],
    /// Roots of the current generation: whole and cut.
    roots: [AtomicU32; 2],
}

/// Both halves have to reach all bits: the low ones choose the bucket, the high ones distinguish its entries.
fn hash(parent: u32, key: u64) -> u64 {
    // The multiplier of the first line is the golden ratio's, that of the rounds is Degski's 64-bit mixer's.
    let mut x = key ^ u64::from(parent).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

impl Trie {
    /// Makes the first table, the first chunk and the roots of generation 0.
    pub fn begin<G: Growth>(&self, memory: &G, held: &G::Held<'_>) -> Option<()> {
        self.make_table(memory, held, 0)?;
        self.make_chunk(memory, held, 0)?;
        self.begin_generation(memory, held, 0)
    }

    /// Makes the roots of a generation; stacks found from now on hang below them.
    pub fn begin_generation<G: Growth>(&self, memory: &G, held: &G::Held<'_>, generation: u32) -> Option<()> {
        for (cut, root) in [false, true].into_iter().zip(&self.roots) {
            let id = self.add(memory, Some(held), 0, root_key(generation, cut))?;
            root.store(id, Ordering::Release);
        }
        Some(())
    }

    /// The root of whole or of cut stacks.
    pub fn root(&self, cut: bool) -> StackId {
        StackId(self.roots[usize::from(cut)].load(Ordering::Acquire))
    }

    /// The node for `key` called from `parent`; [`StackId::UNKNOWN`] if there is no memory for another node.
    pub fn node<G: Growth>(&self, memory: &G, parent: StackId, key: u64) -> StackId {
        StackId(self.add(memory, None, parent.0, key).unwrap_or(0))
    }

    /// The node for `key` called from `parent`, if it is the one that was made right after its caller.
    ///
    /// PERF: a walk makes the nodes of new frames one after the other. Their records are in the same cache line or the next one, where
    /// their places in an index are all over it.
    #[inline(always)]
    pub fn next_node(&self, parent: StackId, key: u64) -> Option<StackId> {
        let next = parent.0.checked_add(1)?;
        self.is(next, parent.0, key).then_some(StackId(next))
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

    #[inline(always)]
    fn is(&self, id: u32, parent: u32, key: u64) -> bool {
        self.record(id).is_some_and(|record| {
            record.key.load(Ordering::Acquire) == key && record.parent.load(Ordering::Relaxed) == parent
        })
    }

    /// Whether two nodes are those of one stack: of two twins, one may be in one and the other in the other.
    pub fn are_same(&self, one: StackId, other: StackId) -> bool {
        let (mut one, mut other) = (one.0, other.0);
        while one != other {
            let (Some(a), Some(b)) = (self.record(one), self.record(other)) else { return false };
            if one == 0 || other == 0 || a.key.load(Ordering::Acquire) != b.key.load(Ordering::Acquire) {
                return false;
            }
            (one, other) = (a.parent.load(Ordering::Relaxed), b.parent.load(Ordering::Relaxed));
        }
        true
    }

    /// Finds or adds a node. The lock may be held already (by the caller that makes roots).
    fn add<G: Growth>(&self, memory: &G, held: Option<&G::Held<'_>>, parent: u32, key: u64) -> Option<u32> {
        let hash = hash(parent, key);
        let tag = hash & 0xffff_ffff_0000_0000;
        let mut fresh = None;
        for table in 0..MAX_INDEX_TABLES {
            let mut buckets = self.tables[table].load(Ordering::Acquire);
            if buckets.is_null() {
                buckets = with_lock(memory, held, |held| self.make_table(memory, held, table))?;
            }
            let index = hash as usize & ((FIRST_TABLE_BUCKETS << table) - 1);
            // SAFETY: the table has this many buckets of atomics and is never unmapped.
            let bucket = unsafe { &*buckets.add(index) };
            for slot in &bucket.0[..BUCKET_ENTRIES] {
                let mut entry = slot.load(Ordering::Acquire);
                if entry == 0 {
                    let id = match fresh {
                        Some(id) => id,
                        None => self.append(memory, held, parent, key)?,
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

    /// Adds a node, also where there is one that is the same: what two threads do that are at it together.
    pub(crate) fn append<G: Growth>(
        &self,
        memory: &G,
        held: Option<&G::Held<'_>>,
        parent: u32,
        key: u64,
    ) -> Option<u32> {
        let count = memory.node_count()?;
        let id = count.fetch_add(1, Ordering::AcqRel);
        let chunk = (id / NODES_PER_CHUNK) as usize;
        if chunk >= MAX_NODE_CHUNKS {
            count.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        if self.record(id).is_none() {
            with_lock(memory, held, |held| self.make_chunk(memory, held, chunk))?;
        }
        let record = self.record(id)?;
        record.parent.store(parent, Ordering::Relaxed);
        record.key.store(key, Ordering::Release);
        Some(id)
    }

    #[cold]
    fn make_table<G: Growth>(&self, memory: &G, held: &G::Held<'_>, table: usize) -> Option<*mut Bucket> {
        let made = self.tables[table].load(Ordering::Acquire);
        if !made.is_null() {
            return Some(made);
        }
        let made = memory.table(held, table, FIRST_TABLE_BUCKETS << table)?;
        self.tables[table].store(made, Ordering::Release);
        Some(made)
    }

    #[cold]
    fn make_chunk<G: Growth>(&self, memory: &G, held: &G::Held<'_>, chunk: usize) -> Option<()> {
        if self.chunks[chunk].load(Ordering::Acquire).is_null() {
            self.chunks[chunk].store(memory.chunk(held, chunk)?, Ordering::Release);
        }
        Some(())
    }
}

fn with_lock<G: Growth, T>(
    memory: &G,
    held: Option<&G::Held<'_>>,
    make: impl FnOnce(&G::Held<'_>) -> Option<T>,
) -> Option<T> {
    match held {
        Some(held) => make(held),
        None => make(&memory.hold()?),
    }
}

#[cfg(not(loom))]
impl Trie {
    /// No memory yet.
    pub const fn new() -> Self {
        Self {
            tables: [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_INDEX_TABLES],
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_NODE_CHUNKS],
            roots: [const { AtomicU32::new(0) }; 2],
        }
    }
}

#[cfg(not(loom))]
impl Default for Trie {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
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
