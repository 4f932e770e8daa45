//! What was never freed, as a level: how much of it was there together.
//!
//! Each process leaves blocks behind when it ends. Those of processes that ran one after the other were never in memory
//! together, and their sum can be more than there ever was. The level of all blocks that are never freed rises when one is
//! handed out and falls when a process ends, so it is highest shortly before an end.

use super::site::Gauge;

/// Ends that are kept. A damaged recording may have any number, each of which is compared with those before.
const MOST_ENDS: usize = 1 << 14;

/// The ends of processes that left something.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    ends: Vec<End>,
    /// The most that a process left of which the end is not kept.
    others: (u64, u64),
}

/// The moment before a process ended.
#[derive(Clone, Copy, Debug)]
struct End {
    at_ns: u64,
    /// What was there and never freed: bytes and blocks, of all processes.
    level: (u64, u64),
    /// All that was live then. Times are coarser than events, so some blocks may seem to be a little older than they are.
    live: (u64, u64),
}

/// What a process leaves, while its blocks are gone through.
#[derive(Debug)]
pub(crate) struct LeftBehind {
    /// The first end that it has lived through.
    first: usize,
    /// By end from that one on: bytes and blocks that are as old as that end, but not as the one before.
    since: Vec<(u64, u64)>,
    all: (u64, u64),
}

fn plus(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

impl Exits {
    /// A process ends that was there since this time.
    pub(crate) fn begin(&self, since_ns: u64) -> LeftBehind {
        let first = self.ends.partition_point(|end| end.at_ns < since_ns);
        LeftBehind { first, since: vec![(0, 0); self.ends.len() - first], all: (0, 0) }
    }

    /// All its blocks were gone through. `live` is what was live before.
    pub(crate) fn end(&mut self, now_ns: u64, left: LeftBehind, live: Gauge) {
        // A process that leaves nothing lowers no level.
        if left.all.1 == 0 {
            return;
        }
        let mut old = (0, 0);
        for (end, since) in self.ends[left.first..].iter_mut().zip(&left.since) {
            old = plus(old, *since);
            end.level = plus(end.level, old);
        }
        let end = End { at_ns: now_ns, level: left.all, live: (live.bytes, live.blocks) };
        if self.ends.len() < MOST_ENDS {
            self.ends.push(end);
        } else {
            self.others = self.others.max(end.highest());
        }
    }

    /// The highest level: bytes and blocks.
    pub(crate) fn highest(&self) -> (u64, u64) {
        self.ends.iter().map(End::highest).fold(self.others, Ord::max)
    }
}

impl End {
    fn highest(&self) -> (u64, u64) {
        (self.level.0.min(self.live.0), self.level.1.min(self.live.1))
    }
}

impl LeftBehind {
    /// A block that was handed out at this time, and never freed.
    pub(crate) fn add(&mut self, exits: &Exits, born_ns: u64, bytes: u64, blocks: u64) {
        self.all = plus(self.all, (bytes, blocks));
        let at = exits.ends[self.first..].partition_point(|end| end.at_ns < born_ns);
        if let Some(since) = self.since.get_mut(at) {
            *since = plus(*since, (bytes, blocks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Since when it is there, its blocks with time and bytes, and its end.
    type Process<'a> = (u64, &'a [(u64, u64)], u64);

    /// Of processes in the order of their ends.
    fn highest(processes: &[Process<'_>]) -> (u64, u64) {
        let mut exits = Exits::default();
        for (since, blocks, end) in processes {
            let mut left = exits.begin(*since);
            blocks.iter().for_each(|&(born, bytes)| left.add(&exits, born, bytes, 1));
            let live = Gauge { bytes: 1000, blocks: 1000, ..Gauge::default() };
            exits.end(*end, left, live);
        }
        exits.highest()
    }

    #[test]
    fn one_process_leaves_what_it_leaves() {
        assert_eq!(highest(&[]), (0, 0));
        assert_eq!(highest(&[(0, &[(1, 10), (2, 5)], 9)]), (15, 2));
    }

    #[test]
    fn what_processes_left_one_after_the_other_was_never_there_together() {
        assert_eq!(highest(&[(0, &[(1, 100)], 5), (6, &[(7, 50)], 9)]), (100, 1));
        assert_eq!(highest(&[(0, &[(1, 50)], 5), (6, &[(7, 100)], 9)]), (100, 1));
    }

    #[test]
    fn what_processes_left_that_were_there_together_is_added_up_as_far_as_it_was_there() {
        // The second one has made a block before the first one ended, and two after that.
        assert_eq!(highest(&[(0, &[(1, 100)], 5), (2, &[(3, 20), (6, 30), (7, 1)], 9)]), (120, 2));
        // One that stays through the ends of others.
        let parent: &[(u64, u64)] = &[(1, 5), (30, 7)];
        assert_eq!(highest(&[(10, &[(11, 40)], 15), (20, &[(21, 50)], 25), (0, parent, 40)]), (55, 2));
    }

    #[test]
    fn no_level_is_higher_than_all_that_was_live() {
        let mut exits = Exits::default();
        let mut left = exits.begin(0);
        left.add(&exits, 0, 100, 3);
        exits.end(5, left, Gauge { bytes: 80, blocks: 2, ..Gauge::default() });
        assert_eq!(exits.highest(), (80, 2));
    }
}
