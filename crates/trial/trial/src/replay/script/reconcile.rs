//! What comes out of turn within an epoch, squared with what comes later.
//!
//! The analysis finds one order for the events of all threads, and sometimes it is not the true one: then a free comes before
//! its allocation, or a block at an address where another one still is. How often an address was handed out and taken back in an
//! epoch is a fact all the same, so a free that comes too early is kept as an *advance* against a later allocation, and a block
//! that has to make room is *displaced* and taken by a later free. This follows the accounts of the analysis step by step (see
//! its `heap/reconciler.rs`), for a script must end with the live blocks that the report tells.

use super::block::Block;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// A free whose allocation has not come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advance {
    pub(super) thread: usize,
    /// Whether somebody else freed this address earlier in the epoch, and may have taken this one's block.
    is_contested: bool,
    /// Whether it is the first half of a resize.
    pub(super) is_resize: bool,
}

/// What is open in an epoch.
#[derive(Debug, Default)]
pub(super) struct Reconciler {
    advances: FxHashMap<u64, Vec<Advance>>,
    displaced: FxHashMap<u64, VecDeque<Block>>,
    /// How many frees and blocks were put into these two in this epoch.
    remembered: usize,
    /// Frees of this epoch, and how many of them are in `freed`.
    log: Vec<(u64, usize)>,
    logged: usize,
    freed: FxHashMap<u64, FxHashSet<usize>>,
    /// Addresses whose blocks were given up, and when.
    given_up: FxHashMap<u64, u64>,
}

/// Addresses beyond this many are not remembered: they come from lost events, not from late ones.
const MOST_GIVEN_UP: usize = 1 << 16;

/// What is remembered of an epoch, and of one address: as in the analysis.
const MOST_REMEMBERED: usize = 1 << 20;
const MOST_AT_AN_ADDRESS: usize = 32;

impl Reconciler {
    /// A block was taken.
    #[inline(always)]
    pub(super) fn log_free(&mut self, address: u64, thread: usize) {
        if self.log.len() < MOST_REMEMBERED {
            self.log.push((address, thread));
        }
    }

    /// A block was to be taken that is not there.
    pub(super) fn free_in_advance(&mut self, address: u64, thread: usize, is_resize: bool) {
        let known = self.advances.get(&address).map_or(0, Vec::len);
        if self.remembered >= MOST_REMEMBERED || known >= MOST_AT_AN_ADDRESS {
            return;
        }
        self.remembered += 1;
        for &(address, by) in &self.log[self.logged..] {
            self.freed.entry(address).or_default().insert(by);
        }
        let is_contested = self.freed.get(&address).is_some_and(|by| by.iter().any(|&by| by != thread));
        // This one may in its turn have come before another thread's.
        self.logged = self.log.len();
        self.log_free(address, thread);
        self.advances.entry(address).or_default().push(Advance { thread, is_contested, is_resize });
    }

    /// The free that an allocation cancels against. An uncontested one is only cancelled by another thread: its own thread
    /// allocates after it.
    pub(super) fn cancel(&mut self, address: u64, thread: usize) -> Option<Advance> {
        if self.advances.is_empty() {
            return None;
        }
        let advances = self.advances.get_mut(&address)?;
        let at = advances.iter().position(|a| a.is_contested || a.thread != thread)?;
        Some(advances.swap_remove(at))
    }

    /// A block has to make room for another one at its address. `false` if there are too many to be remembered.
    pub(super) fn displace(&mut self, address: u64, block: Block) -> bool {
        if self.remembered >= MOST_REMEMBERED {
            return false;
        }
        self.remembered += 1;
        self.displaced.entry(address).or_default().push_back(block);
        true
    }

    /// The displaced block that is taken instead of the one that is there.
    pub(super) fn take_displaced(&mut self, address: u64) -> Option<Block> {
        if self.displaced.is_empty() {
            return None;
        }
        self.displaced.get_mut(&address)?.pop_front()
    }

    /// Whether a late event of an epoch means a block that was given up since.
    pub(super) fn was_given_up(&mut self, address: u64, epoch: u64) -> bool {
        let is = self.given_up.get(&address).is_some_and(|&since| since >= epoch);
        is && self.given_up.remove(&address).is_some()
    }

    /// Closes an epoch. What is left are blocks whose free was not seen.
    pub(super) fn close(&mut self, epoch: u64) -> Vec<Block> {
        self.log.clear();
        self.logged = 0;
        self.remembered = 0;
        if self.advances.is_empty() && self.displaced.is_empty() {
            return Vec::new();
        }
        self.freed.clear();
        self.advances.clear();
        let mut left: Vec<(u64, Block)> = self
            .displaced
            .drain()
            .flat_map(|(at, blocks)| blocks.into_iter().map(move |b| (at, b)))
            .collect();
        // The order of a hash map must not decide the order of a script.
        left.sort_by_key(|(address, block)| (*address, block.slot));
        for &(address, _) in &left {
            if self.given_up.len() < MOST_GIVEN_UP {
                self.given_up.insert(address, epoch);
            }
        }
        left.into_iter().map(|(_, block)| block).collect()
    }
}
