//! A table of stacks with counts, whose memory is allocated before the first request.
//!
//! Requests are examined where nothing may be allocated, and a loop may make ten millions of them. So a table has room for a
//! fixed number of stacks, and after the first few thousand requests only a sample is examined, which gets sparser. Each request
//! of the sample then stands for all that were skipped before it.

/// Stacks of a table.
const MOST_STACKS: usize = 256;
/// Frames of a table: 32 for each stack on average.
const MOST_FRAMES: usize = MOST_STACKS * 32;
/// Innermost frames of a stack that are kept.
pub(super) const DEPTH: usize = 80;

/// Requests, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.requests += other.requests;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// A stack in the table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    length: usize,
    sum: Sum,
}

/// Stacks, how many requests came from each, and which request is examined next.
#[derive(Debug)]
pub(super) struct Table {
    hashes: Vec<u64>,
    entries: Vec<Entry>,
    frames: Vec<usize>,
    /// Of stacks for which there was no room.
    others: Sum,
    pace: Pace,
    is_sampled: bool,
}

impl Table {
    /// Allocates all the memory that it will ever need.
    pub(super) fn new() -> Self {
        let mut table = Self::growing();
        table.hashes.reserve_exact(MOST_STACKS);
        table.entries.reserve_exact(MOST_STACKS);
        table.frames.reserve_exact(MOST_FRAMES);
        table
    }

    /// One that allocates when something is added to it: not for [`Table::request`].
    pub(super) const fn growing() -> Self {
        Self {
            hashes: Vec::new(),
            entries: Vec::new(),
            frames: Vec::new(),
            others: Sum { requests: 0, bytes: 0 },
            pace: Pace::new(),
            is_sampled: false,
        }
    }

    /// Forgets everything but the memory.
    pub(super) fn clear(&mut self) {
        self.hashes.clear();
        self.entries.clear();
        self.frames.clear();
        (self.others, self.pace, self.is_sampled) = (Sum::default(), Pace::new(), false);
    }

    /// A request of so many bytes. `capture` writes the stack and says how many frames it has; it is not always called.
    pub(super) fn request(&mut self, bytes: u64, capture: impl FnOnce(&mut [usize; DEPTH]) -> usize) {
        let Some(requests) = self.pace.look(bytes) else { return };
        let mut frames = [0; DEPTH];
        let length = capture(&mut frames).min(DEPTH);
        self.add(&frames[..length], Sum { requests, bytes: bytes.saturating_mul(requests) });
    }

    fn add(&mut self, frames: &[usize], sum: Sum) {
        let hash = hash(frames);
        let mut known = self.hashes.iter().zip(&mut self.entries);
        let is_it = |entry: &Entry| self.frames[entry.start..][..entry.length] == *frames;
        if let Some((_, entry)) = known.find(|(known, entry)| **known == hash && is_it(entry)) {
            return entry.sum.add(sum);
        }
        let has_room = self.entries.len() < MOST_STACKS && self.frames.len() + frames.len() <= MOST_FRAMES;
        if !has_room {
            return self.others.add(sum);
        }
        self.entries.push(Entry { start: self.frames.len(), length: frames.len(), sum });
        self.hashes.push(hash);
        self.frames.extend_from_slice(frames);
    }

    /// Adds what another table has seen.
    pub(super) fn add_all(&mut self, other: &Table) {
        for (frames, sum) in other.stacks() {
            self.add(frames, sum);
        }
        self.others.add(other.others());
        self.is_sampled |= other.is_sampled();
    }

    /// The stacks, each from its innermost frame on.
    pub(super) fn stacks(&self) -> impl Iterator<Item = (&[usize], Sum)> {
        self.entries.iter().map(|entry| (&self.frames[entry.start..][..entry.length], entry.sum))
    }

    /// Requests that belong to none of the stacks.
    pub(super) fn others(&self) -> Sum {
        let mut others = self.others;
        others.add(self.pace.passed);
        others
    }

    /// Whether some requests were skipped, so that the sums of stacks are estimates.
    pub(super) fn is_sampled(&self) -> bool {
        self.is_sampled || self.pace.seen > Pace::EACH
    }
}

/// The hash of FNV, over words: stacks are short, and the table is small.
fn hash(frames: &[usize]) -> u64 {
    let mix =
        |hash: u64, &frame: &usize| (hash ^ frame as u64).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    frames.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Which requests are examined.
#[derive(Debug)]
struct Pace {
    seen: u64,
    seen_bytes: u64,
    /// Since the last one that was examined for its turn.
    passed: Sum,
    /// The turn comes with this many.
    turn: u64,
    random: u64,
}

impl Pace {
    /// So many are examined one by one. A stack takes about two microseconds, so that is less than a hundredth of a second.
    const EACH: u64 = 4096;
    /// From then on about so many are, each time that the number of requests grows by the factor e.
    const LATER: u64 = 2048;
    /// A request for more than this part of all bytes so far is always examined: sampling must not miss the large ones. As each
    /// adds such a part to the sum, there cannot be many.
    const LARGE: u64 = 1024;

    const fn new() -> Self {
        Self {
            seen: 0,
            seen_bytes: 0,
            passed: Sum { requests: 0, bytes: 0 },
            turn: 1,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// For how many requests this one stands; `None` if it is not examined.
    fn look(&mut self, bytes: u64) -> Option<u64> {
        self.seen += 1;
        self.seen_bytes = self.seen_bytes.saturating_add(bytes);
        if self.seen <= Self::EACH || bytes > self.seen_bytes / Self::LARGE {
            return Some(1);
        }
        self.passed.add(Sum { requests: 1, bytes });
        if self.passed.requests < self.turn {
            return None;
        }
        // The next gap is random, or a loop of two lines might show only one of them.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let mean = (self.seen / Self::LATER).max(1);
        self.turn = 1 + self.random % (2 * mean - 1);
        Some(std::mem::take(&mut self.passed).requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(of: &[usize]) -> impl FnOnce(&mut [usize; DEPTH]) -> usize {
        |frames| {
            frames[..of.len()].copy_from_slice(of);
            of.len()
        }
    }

    #[test]
    fn few_requests_are_counted_exactly() {
        let mut table = Table::new();
        for i in 0..1000 {
            table.request(10, stack(if i % 4 == 0 { &[1, 2] } else { &[1, 2, 3] }));
        }
        let found: Vec<_> = table.stacks().collect();
        assert_eq!(found[0], (&[1, 2][..], Sum { requests: 250, bytes: 2500 }));
        assert_eq!(found[1], (&[1, 2, 3][..], Sum { requests: 750, bytes: 7500 }));
        assert!(!table.is_sampled() && table.others() == Sum::default());
    }

    #[test]
    fn of_many_requests_a_few_stand_for_the_rest_and_none_is_lost() {
        let mut table = Table::new();
        let mut looks = 0;
        for i in 0..3_000_000u64 {
            let frames: &[usize] = if i % 2 == 0 { &[7] } else { &[8] };
            table.request(8, |to| {
                looks += 1;
                stack(frames)(to)
            });
        }
        assert!(looks < 30_000, "{looks}");
        assert!(table.is_sampled());
        let sums: Vec<Sum> = table.stacks().map(|(_, sum)| sum).collect();
        assert_eq!(sums[0].requests + sums[1].requests + table.others().requests, 3_000_000);
        let share = sums[0].requests as f64 / 3e6;
        assert!((0.45..0.55).contains(&share), "{share}");
    }

    #[test]
    fn a_large_request_among_many_small_ones_is_never_missed() {
        let mut table = Table::new();
        for i in 0..1_000_000u64 {
            match i {
                777_777 => table.request(1 << 30, stack(&[9])),
                _ => table.request(16, stack(&[7])),
            }
        }
        let large = table.stacks().find(|(frames, _)| frames == &[9]).map(|(_, sum)| sum);
        assert_eq!(large, Some(Sum { requests: 1, bytes: 1 << 30 }));
    }

    #[test]
    fn a_full_table_counts_the_rest_together_and_does_not_grow() {
        let mut table = Table::new();
        let room = (table.entries.capacity(), table.frames.capacity());
        for i in 0..1000 {
            table.request(1, stack(&[i; 40]));
        }
        assert_eq!((table.entries.capacity(), table.frames.capacity()), room);
        let known: u64 = table.stacks().map(|(_, sum)| sum.requests).sum();
        assert_eq!(table.stacks().count(), MOST_FRAMES / 40);
        assert_eq!(known + table.others().requests, 1000);
    }

    #[test]
    fn tables_are_added_up() {
        let (mut one, mut other) = (Table::new(), Table::new());
        one.request(5, stack(&[1]));
        other.request(6, stack(&[1]));
        other.request(7, stack(&[2]));
        one.add_all(&other);
        let sums: Vec<_> = one.stacks().map(|(_, sum)| (sum.requests, sum.bytes)).collect();
        assert_eq!(sums, [(2, 11), (1, 7)]);
        other.clear();
        assert_eq!(other.stacks().count(), 0);
    }
}
