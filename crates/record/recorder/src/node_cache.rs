//! A thread's memory of the nodes that it used last: the trie itself is spread over more cache lines than fit near a
//! processor.

use heapwise_trace::event::StackId;

/// The nodes that a thread used last. Zeroed memory is an empty one (no node has key 0), and a null pointer one that remembers nothing.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct NodeCache(*mut [CachedNode; CACHED_NODES]);

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
    pub(crate) const BYTES: usize = size_of::<[CachedNode; CACHED_NODES]>();

    /// Begins with this memory.
    ///
    /// # Safety
    /// `at` is null, or the start of so many zeroed bytes, aligned to eight, which belong to this from now on.
    pub(crate) unsafe fn begin(&mut self, at: *mut u8) {
        self.0 = at.cast();
    }

    fn all(&mut self) -> Option<&mut [CachedNode; CACHED_NODES]> {
        // SAFETY: null, or memory that belongs to this, which is borrowed exclusively; any bytes are valid.
        unsafe { self.0.as_mut() }
    }

    /// The node for `key` called from `parent`, from the cache or by `find`.
    #[inline(always)]
    pub(crate) fn node(
        &mut self,
        parent: StackId,
        key: u64,
        find: impl FnOnce(StackId, u64) -> StackId,
    ) -> StackId {
        let Some(all) = self.all() else { return find(parent, key) };
        let cached = &mut all[cache_index(parent.0, key)];
        if cached.key != key || cached.parent != parent.0 {
            let id = find(parent, key);
            *cached = CachedNode { key, parent: parent.0, id: id.0 };
        }
        StackId(cached.id)
    }

    /// Forgets everything: the ids belong to another process's trie.
    pub(crate) fn forget(&mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_remembered_by_each_cache_for_itself_until_it_is_forgotten() {
        let mut memory = [const { Vec::new() }; 2].map(|_: Vec<u64>| vec![0u64; NodeCache::BYTES / 8]);
        let mut caches = memory.each_mut().map(|memory| NodeCache(memory.as_mut_ptr().cast()));
        let keys = (1..=20_000u64).map(|key| (StackId(key as u32 % 7), key << 4));
        for (nth, cache) in caches.iter_mut().enumerate() {
            let id = |key: u64| StackId((key + nth as u64) as u32);
            for (parent, key) in keys.clone() {
                assert_eq!(cache.node(parent, key, |_, key| id(key)), id(key));
                assert_eq!(cache.node(parent, key, |_, _| panic!("it was found just now")), id(key));
            }
            // Another parent is another node.
            assert_eq!(cache.node(StackId(8), 16, |_, _| StackId(99)), StackId(99));
        }
        let mut asked = 0;
        caches[0].forget();
        for (parent, key) in keys {
            caches[0].node(parent, key, |_, key| {
                asked += 1;
                StackId(key as u32)
            });
        }
        assert_eq!(asked, 20_000);
        let mut none = NodeCache(core::ptr::null_mut());
        assert_eq!(none.node(StackId(1), 1, |_, _| StackId(5)), StackId(5), "it remembers nothing");
        assert_eq!(none.node(StackId(1), 1, |_, _| StackId(6)), StackId(6));
    }
}
