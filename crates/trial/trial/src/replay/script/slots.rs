//! Which slot a block has.
//!
//! A slot that a thread has emptied is filled again by the same thread, so that no thread needs to wait for it. If a thread has
//! none, because others free its blocks, it takes half of those of the thread that has most, the oldest first; before it fills
//! one of these it has to wait until the slot was emptied, which by then was long ago. So there are never many more slots than
//! there were live blocks.

use std::collections::VecDeque;

/// An empty slot, and the generation of the block that was in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Empty {
    slot: u32,
    generation: u16,
}

/// A slot for a new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) slot: u32,
    pub(crate) generation: u16,
    /// Whether another thread emptied it.
    pub(crate) waits: bool,
}

/// The empty slots by thread.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// Emptied by the thread itself.
    own: Vec<VecDeque<Empty>>,
    /// Taken from others.
    foreign: Vec<VecDeque<Empty>>,
    /// How many slots there are.
    pub(crate) count: u32,
}

impl Slots {
    pub(crate) fn add_thread(&mut self) {
        self.own.push(VecDeque::new());
        self.foreign.push(VecDeque::new());
    }

    pub(crate) fn take(&mut self, thread: usize) -> Place {
        if let Some(empty) = self.own[thread].pop_back() {
            return Place { slot: empty.slot, generation: empty.generation.wrapping_add(1), waits: false };
        }
        if self.foreign[thread].is_empty() {
            self.steal(thread);
        }
        if let Some(empty) = self.foreign[thread].pop_front() {
            return Place { slot: empty.slot, generation: empty.generation.wrapping_add(1), waits: true };
        }
        let slot = self.count;
        self.count += 1;
        Place { slot, generation: 1, waits: false }
    }

    pub(crate) fn recycle(&mut self, thread: usize, slot: u32, generation: u16) {
        self.own[thread].push_back(Empty { slot, generation });
    }

    fn steal(&mut self, thread: usize) {
        /// Fewer are not worth the waiting that they may bring.
        const WORTH: usize = 256;
        let richest = (0..self.own.len()).max_by_key(|&i| self.own[i].len()).unwrap_or(thread);
        let many = self.own[richest].len();
        if richest != thread && many >= WORTH {
            let taken: Vec<Empty> = self.own[richest].drain(..many / 2).collect();
            self.foreign[thread].extend(taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_fills_what_it_emptied() {
        let mut slots = Slots::default();
        slots.add_thread();
        let first = slots.take(0);
        assert_eq!(first, Place { slot: 0, generation: 1, waits: false });
        assert_eq!(slots.take(0).slot, 1);
        slots.recycle(0, 0, 1);
        assert_eq!(slots.take(0), Place { slot: 0, generation: 2, waits: false });
    }

    #[test]
    fn what_goes_one_way_between_threads_does_not_need_more_and_more_slots() {
        let mut slots = Slots::default();
        slots.add_thread();
        slots.add_thread();
        let mut waits = 0;
        for _ in 0..100_000 {
            let place = slots.take(0);
            waits += u32::from(place.waits);
            slots.recycle(1, place.slot, place.generation);
        }
        assert!(slots.count <= 1024, "{}", slots.count);
        assert!(waits > 90_000);
    }
}
