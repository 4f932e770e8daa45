//! What was done out of turn within an epoch and has to be squared with later events.
//!
//! The order of threads within an epoch is not known, only that every address is handed out and taken back
//! alternately. [`crate::order`] takes whatever is possible next; sometimes that leads to a point where nothing is
//! possible, because an earlier choice was not the true one:
//!
//! ```text
//! truth     P: alloc X    Q: free X    Q: alloc X    R: free X
//! chosen    P: alloc X    R: free X    and now Q cannot free X: it must be forced
//! ```
//!
//! Whatever the order, the *number* of allocations and frees of an address in an epoch is a fact, and it alone decides
//! whether the address is live afterwards. So a forced free is remembered as made *in advance* and cancels against a
//! later allocation of this epoch, and a block at whose address another one was forced is remembered as *displaced*
//! and taken by a later free. Only what is left when the epoch closes was not seen: freed blocks of which no
//! allocation was recorded, and blocks of which no free was.
//!
//! A reallocation is published after the allocator did it. If its thread was held up in between for longer than the
//! collector waits, the old address may be handed out again in an earlier section than the reallocation is found in. So
//! displaced blocks are remembered for such late events too, as *owed*.
//!
//! The code that keeps the accounts decides what a block is and what its end means: the ledger, and the script of a
//! replay, which must end with the live blocks that the report has.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::collections::VecDeque;

/// A process, and an address in it.
pub type Place = (u32, u64);
type Map<K, V> = HashMap<K, V, FxBuildHasher>;

/// Frees of an epoch that are remembered. An epoch has some thousand events of a thread; where there are more, an allocation is
/// no longer matched with an earlier free of the same epoch, and both are counted.
const MOST_REMEMBERED: usize = 1 << 20;
/// Frees of one address of which the same holds. More than two threads hardly ever free the same address within an epoch, and
/// each allocation there goes through all of them.
const MOST_AT_A_PLACE: usize = 32;
/// Debts beyond this many are not remembered: they come from lost events, not from late ones.
const MOST_OWED: usize = 1 << 16;

/// A free that came before its allocation.
#[derive(Clone, Copy, Debug)]
pub struct Advance {
    /// The thread that freed the block.
    pub thread: u32,
    /// Whether another thread freed this address earlier in the epoch, so that it may have freed this one's block.
    pub contested: bool,
    /// Whether it was the first half of a reallocation, which frees no block in the end.
    pub resize: bool,
}

/// The open accounts of blocks.
#[derive(Debug)]
pub struct Reconciler<Block> {
    /// Whether a free came in advance or a block is displaced in this epoch. PERF: most epochs have neither, and then there is
    /// nothing to cancel, take or close.
    pub open: bool,
    advances: Map<Place, Vec<Advance>>,
    displaced: Map<Place, VecDeque<Block>>,
    /// How many frees and blocks were put into these two in this epoch.
    remembered: usize,
    /// Frees of this epoch, as far as they may matter, and how many of them are in `freed`.
    log: Vec<(Place, u32)>,
    logged: usize,
    freed: FxHashSet<(Place, u32)>,
    freed_by: Map<Place, u32>,
    owed: Map<Place, (u64, Block)>,
}

/// What is left when an epoch closes, in no particular order.
#[derive(Debug)]
pub struct Left<Block> {
    /// Frees of blocks of which no allocation was recorded.
    pub unknown: Vec<Advance>,
    /// Blocks of which no free was recorded.
    pub displaced: Vec<(Place, Block)>,
}

impl<Block> Default for Reconciler<Block> {
    fn default() -> Self {
        Self {
            open: false,
            advances: Map::default(),
            displaced: Map::default(),
            remembered: 0,
            log: Vec::new(),
            logged: 0,
            freed: FxHashSet::default(),
            freed_by: Map::default(),
            owed: Map::default(),
        }
    }
}

impl<Block: Copy> Reconciler<Block> {
    /// Notes a free in an epoch in which several threads have events.
    #[inline(always)]
    pub fn log_free(&mut self, place: Place, thread: u32) {
        if self.log.len() < MOST_REMEMBERED {
            self.log.push((place, thread));
        }
    }

    /// Notes a free whose block is not there. `false` if there are too many to be remembered.
    pub fn free_in_advance(&mut self, place: Place, thread: u32, resize: bool) -> bool {
        if self.remembered >= MOST_REMEMBERED
            || self.advances.get(&place).is_some_and(|advances| advances.len() >= MOST_AT_A_PLACE)
        {
            return false;
        }
        self.remembered += 1;
        for &(place, by) in &self.log[self.logged..] {
            if self.freed.insert((place, by)) {
                *self.freed_by.entry(place).or_insert(0) += 1;
            }
        }
        self.logged = self.log.len();
        let threads = self.freed_by.get(&place).copied().unwrap_or(0);
        let own = u32::from(self.freed.contains(&(place, thread)));
        // This one may in its turn have come before another thread's.
        self.log_free(place, thread);
        self.open = true;
        self.advances.entry(place).or_default().push(Advance { thread, contested: threads > own, resize });
        true
    }

    /// The free that an allocation at `place` by `thread` cancels against. An uncontested one is only cancelled by
    /// another thread: its own thread allocates after it.
    pub fn cancel(&mut self, place: Place, thread: u32) -> Option<Advance> {
        let Entry::Occupied(mut entry) = self.advances.entry(place) else { return None };
        let at = entry.get().iter().position(|a| a.contested || a.thread != thread)?;
        let advance = entry.get_mut().swap_remove(at);
        if entry.get().is_empty() {
            entry.remove();
        }
        Some(advance)
    }

    /// Remembers a block at whose address another one was handed out. `false` if there are too many to be remembered.
    pub fn displace(&mut self, place: Place, block: Block) -> bool {
        if self.remembered >= MOST_REMEMBERED {
            return false;
        }
        self.remembered += 1;
        self.open = true;
        self.displaced.entry(place).or_default().push_back(block);
        true
    }

    /// The displaced block that a free takes instead of the one that is there.
    pub fn take_displaced(&mut self, place: Place) -> Option<Block> {
        let Entry::Occupied(mut entry) = self.displaced.entry(place) else { return None };
        let block = entry.get_mut().pop_front();
        if entry.get().is_empty() {
            entry.remove();
        }
        block
    }

    /// The block that a late free or resize of epoch `epoch` takes, if one was displaced at that address since.
    pub fn settle(&mut self, place: Place, epoch: u64) -> Option<Block> {
        if self.owed.is_empty() {
            return None;
        }
        let (since, block) = *self.owed.get(&place)?;
        (since >= epoch).then(|| {
            self.owed.remove(&place);
            block
        })
    }

    pub fn close(&mut self, epoch: u64) -> Left<Block> {
        self.open = false;
        self.remembered = 0;
        self.log.clear();
        self.logged = 0;
        self.freed.clear();
        self.freed_by.clear();
        let displaced: Vec<_> = self
            .displaced
            .drain()
            .flat_map(|(place, blocks)| blocks.into_iter().map(move |b| (place, b)))
            .collect();
        for &(place, block) in &displaced {
            if self.owed.len() < MOST_OWED {
                self.owed.insert(place, (epoch, block));
            }
        }
        Left { unknown: self.advances.drain().flat_map(|(_, advances)| advances).collect(), displaced }
    }

    /// Forgets the frees of an epoch in which nothing was done out of turn.
    #[inline(always)]
    pub fn forget_log(&mut self) {
        self.log.clear();
        self.logged = 0;
    }
}
