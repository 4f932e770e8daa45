//! The sums: for each stack and class of sizes what was allocated and what is live, and which sampled blocks that is.
//!
//! Memory is bounded, whatever the program does: what finds no place is added to a site without a stack, so the totals stay right, and is
//! counted.

use crate::queue::{Kind, Lost, Note, UNFOLLOWED};
use crate::session::Begin;
use crate::{live, queue};
use heapwise_trace::sampling::weight;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Sites that are kept.
const MOST_SITES: usize = 1 << 16;
/// Frames of all different stacks together: 16 MiB.
const MOST_FRAMES: usize = 1 << 21;
/// Sampled blocks that are live. The set of them has no more places.
const MOST_LIVE: usize = 1 << 21;
/// Blocks that are about to be resized. Each thread has one at a time.
const MOST_LEAVING: usize = 1 << 12;
/// The site of what found no place.
const NO_STACK: u32 = 0;

/// Estimates: each sampled block stands for as many as its weight says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests: blocks that were handed out, and blocks that were resized.
    pub alloc_objects: u64,
    /// Bytes of these.
    pub alloc_bytes: u64,
    /// Blocks that are live.
    pub live_objects: u64,
    /// Bytes of these.
    pub live_bytes: u64,
}

/// A stack, and a class of sizes: from half of a power of two to that.
#[derive(Clone, Debug)]
pub struct Site {
    /// Return addresses, innermost first, with heapwise's own; empty for all that found no place.
    pub stack: Arc<[u64]>,
    /// The largest size of its class, in bytes; 0 for all that found no place.
    pub most_bytes: u64,
    /// What is known of it.
    pub counts: Counts,
}

/// Of the whole process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// The sums over all sites.
    pub counts: Counts,
    /// Standard error of `counts.alloc_bytes`. `None` if samples are missing, or there is none.
    pub alloc_bytes_error: Option<f64>,
    /// Standard error of `counts.live_bytes`. `None` if samples are missing, or none is live.
    pub live_bytes_error: Option<f64>,
    /// Blocks that were sampled.
    pub samples: u64,
    /// Of these, the ones that are live.
    pub live_samples: u64,
    /// Samples that are missing in all numbers: there was no room in the queue.
    pub lost_samples: u64,
    /// Samples that are never among the live ones: there was no place in the set of these.
    pub unfollowed_samples: u64,
    /// Ends of sampled blocks that there was no room for in the queue. They are noticed later.
    pub lost_frees: u64,
    /// Samples that are in the totals but have no stack.
    pub samples_without_stack: u64,
    /// Different stacks.
    pub stacks: u64,
    /// Bytes of what is kept for all this, at most.
    pub own_bytes: u64,
}

/// What there is at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The order never changes: a later snapshot has these first.
    pub sites: Vec<Site>,
    /// Their sums, and what is known of the sample.
    pub totals: Totals,
    /// At most so many bytes lie between two sampled blocks.
    pub sample_bytes: u64,
    /// When sampling began, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// How long ago that is, in nanoseconds.
    pub age_ns: u64,
}

/// A sampled block that is live.
#[derive(Clone, Copy, Debug)]
struct Block {
    site: u32,
    size: u64,
}

#[derive(Debug)]
pub(super) struct Sums {
    begin: Begin,
    stacks: FxHashMap<Arc<[u64]>, u32>,
    n_frames: usize,
    ids: FxHashMap<(u32, u8), u32>,
    sites: Vec<Site>,
    live: FxHashMap<u64, Block>,
    /// Blocks that were about to be resized: those that may stay, and others of which nothing more is heard.
    leaving: FxHashMap<u64, Block>,
    totals: Totals,
    /// Squares of the errors. Whole numbers, so that what is added and taken away again leaves nothing.
    alloc_variance: u128,
    live_variance: u128,
    /// Ends that were lost when it was last looked for blocks whose end was among them.
    known_lost_frees: u64,
}

impl Sums {
    pub(super) fn new(begin: &Begin) -> Self {
        Self {
            begin: *begin,
            stacks: FxHashMap::default(),
            n_frames: 0,
            ids: FxHashMap::default(),
            sites: vec![Site { stack: Arc::from([]), most_bytes: 0, counts: Counts::default() }],
            live: FxHashMap::default(),
            leaving: FxHashMap::default(),
            totals: Totals::default(),
            alloc_variance: 0,
            live_variance: 0,
            known_lost_frees: 0,
        }
    }

    pub(super) fn add(&mut self, note: Note, frames: &[u64]) {
        match note.kind {
            Kind::Alloc { .. } | Kind::ReallocEnd => self.allocated(note.address, note.size, frames),
            Kind::Free => {
                let _ = self.freed(note.address);
            }
            Kind::ReallocBegin => self.leaves(note.address),
            Kind::Stays => self.stays(note.address, note.size, frames),
            Kind::Failed { .. } => {}
        }
    }

    fn allocated(&mut self, address: u64, size: u64, frames: &[u64]) {
        // Its free was lost.
        let _ = self.freed(address);
        let site = self.site(frames, size);
        let (objects, bytes, variance) = self.worth(size);
        self.totals.samples += 1;
        for counts in [&mut self.totals.counts, &mut self.sites[site as usize].counts] {
            counts.alloc_objects = counts.alloc_objects.saturating_add(objects);
            counts.alloc_bytes = counts.alloc_bytes.saturating_add(bytes);
        }
        self.alloc_variance = self.alloc_variance.saturating_add(variance);
        self.lives(address, Block { site, size });
    }

    fn lives(&mut self, address: u64, block: Block) {
        if address == UNFOLLOWED || self.live.len() == MOST_LIVE {
            self.totals.unfollowed_samples += 1;
            return;
        }
        self.live.insert(address, block);
        let Block { site, size } = block;
        let (objects, bytes, variance) = self.worth(size);
        for counts in [&mut self.totals.counts, &mut self.sites[site as usize].counts] {
            counts.live_objects += objects;
            counts.live_bytes = counts.live_bytes.saturating_add(bytes);
        }
        self.live_variance = self.live_variance.saturating_add(variance);
    }

    /// A block that is resized is gone, unless the allocator refuses.
    fn leaves(&mut self, address: u64) {
        // What matters is that of a moment ago.
        if self.leaving.len() == MOST_LEAVING {
            self.leaving.clear();
        }
        match self.freed(address) {
            Some(block) => self.leaving.insert(address, block),
            // One that was there before had the address earlier.
            None => self.leaving.remove(&address),
        };
    }

    /// It is live as it was, and nothing was allocated.
    fn stays(&mut self, address: u64, size: u64, frames: &[u64]) {
        // If it was not heard of that it is to be resized, it still counts as live.
        let (left, live) = (self.leaving.remove(&address), self.freed(address));
        let block = live.or(left).unwrap_or_else(|| Block { site: self.site(frames, size), size });
        self.lives(address, block);
    }

    fn freed(&mut self, address: u64) -> Option<Block> {
        let block = self.live.remove(&address)?;
        let Block { site, size } = block;
        let (objects, bytes, variance) = self.worth(size);
        for counts in [&mut self.totals.counts, &mut self.sites[site as usize].counts] {
            counts.live_objects = counts.live_objects.saturating_sub(objects);
            counts.live_bytes = counts.live_bytes.saturating_sub(bytes);
        }
        self.live_variance = self.live_variance.saturating_sub(variance);
        Some(block)
    }

    /// Of a sampled block: how many it stands for, their bytes, and by how much the square of the error of bytes grows.
    fn worth(&self, size: u64) -> (u64, u64, u128) {
        let weight = weight(self.begin.sample_bytes, size);
        let squared = u128::from(size).saturating_mul(u128::from(size));
        let variance = squared.saturating_mul(u128::from(weight) * u128::from(weight - 1));
        (weight, weight.saturating_mul(size), variance)
    }

    fn site(&mut self, frames: &[u64], size: u64) -> u32 {
        let class = (u64::BITS - size.saturating_sub(1).leading_zeros()) as u8;
        let found = self.stack(frames).and_then(|(number, stack)| {
            if let Some(&known) = self.ids.get(&(number, class)) {
                return Some(known);
            }
            if self.sites.len() == MOST_SITES {
                return None;
            }
            let id = self.sites.len() as u32;
            self.ids.insert((number, class), id);
            let most_bytes = 1u64.checked_shl(class.into()).unwrap_or(u64::MAX);
            self.sites.push(Site { stack, most_bytes, counts: Counts::default() });
            Some(id)
        });
        found.unwrap_or_else(|| {
            self.totals.samples_without_stack += 1;
            NO_STACK
        })
    }

    fn stack(&mut self, frames: &[u64]) -> Option<(u32, Arc<[u64]>)> {
        if let Some((stack, &number)) = self.stacks.get_key_value(frames) {
            return Some((number, Arc::clone(stack)));
        }
        if frames.is_empty() || self.n_frames + frames.len() > MOST_FRAMES || self.stacks.len() == MOST_SITES
        {
            return None;
        }
        let (number, stack) = (self.stacks.len() as u32, Arc::<[u64]>::from(frames));
        self.n_frames += frames.len();
        self.stacks.insert(Arc::clone(&stack), number);
        Some((number, stack))
    }

    /// If ends of blocks were lost, what is not in the set of sampled live blocks any more is gone. This goes through all that are live.
    pub(super) fn forget_lost(&mut self, lost: Lost) {
        if std::mem::replace(&mut self.known_lost_frees, lost.frees) == lost.frees {
            return;
        }
        let is_gone = |address: &&u64| live::contains(**address) == Some(false);
        let gone: Vec<u64> = self.live.keys().filter(is_gone).copied().collect();
        for address in gone {
            let _ = self.freed(address);
        }
    }

    pub(super) fn snapshot(&self, lost: Lost) -> Snapshot {
        Snapshot { sites: self.sites.clone(), ..self.totals(lost) }
    }

    pub(super) fn totals(&self, lost: Lost) -> Snapshot {
        let live_samples = self.live.len() as u64;
        let is_whole = lost.others == 0;
        let error = |variance: u128, is_known: bool| is_known.then(|| (variance as f64).sqrt());
        let is_followed = self.totals.unfollowed_samples == 0;
        Snapshot {
            sites: Vec::new(),
            totals: Totals {
                alloc_bytes_error: error(self.alloc_variance, is_whole && self.totals.samples > 0),
                live_bytes_error: error(self.live_variance, is_whole && is_followed && live_samples > 0),
                live_samples,
                lost_samples: lost.others,
                lost_frees: lost.frees,
                stacks: self.stacks.len() as u64,
                own_bytes: self.own_bytes(),
                ..self.totals
            },
            sample_bytes: self.begin.sample_bytes,
            started_unix_ns: self.begin.started_unix_ns,
            age_ns: self.begin.began.elapsed().as_nanos() as u64,
        }
    }

    /// Bytes of tables and stacks. A hash table has a byte for each entry besides.
    fn own_bytes(&self) -> u64 {
        let stacks = self.stacks.capacity() * (size_of::<(Arc<[u64]>, u32)>() + 1) + self.n_frames * 8;
        let sites = self.ids.capacity() * (size_of::<((u32, u8), u32)>() + 1)
            + self.sites.capacity() * size_of::<Site>();
        let blocks = (self.live.capacity() + self.leaving.capacity()) * (size_of::<(u64, Block)>() + 1);
        (stacks + sites + blocks) as u64 + queue::most_bytes() + live::bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::event::AllocFunction;
    use std::time::Instant;

    const EVERY: u64 = 512 << 10;

    fn sums() -> Sums {
        Sums::new(&Begin { sample_bytes: EVERY, began: Instant::now(), started_unix_ns: 0 })
    }

    fn allocated(sums: &mut Sums, address: u64, size: u64, frames: &[u64]) {
        let kind = Kind::Alloc { function: AllocFunction::Malloc, align_log2: 0 };
        sums.add(Note { kind, address, size }, frames);
    }

    fn freed(sums: &mut Sums, address: u64) {
        sums.add(Note { kind: Kind::Free, address, size: 0 }, &[]);
    }

    #[test]
    fn each_block_counts_by_its_weight_and_leaves_nothing_when_it_is_freed() {
        let mut sums = sums();
        allocated(&mut sums, 0x10, 24, &[1, 2]);
        allocated(&mut sums, 0x20, 1 << 20, &[1, 2]);
        allocated(&mut sums, 0x30, 24, &[1, 3]);
        let snapshot = sums.snapshot(Lost::default());
        let counts: Vec<_> = snapshot.sites.iter().map(|site| site.counts.live_objects).collect();
        let sizes: Vec<_> = snapshot.sites.iter().map(|site| site.most_bytes).collect();
        assert_eq!(sizes, [0, 32, 1 << 20, 32]);
        // Two sizes of one stack are two sites; a block that is always sampled stands for itself.
        assert_eq!(counts, [0, 16384, 1, 16384]);
        assert_eq!(snapshot.sites[1].counts.alloc_bytes, 16384 * 24);
        assert!(snapshot.totals.live_bytes_error > Some(0.0));
        for address in [0x10, 0x20, 0x30, 0x40] {
            freed(&mut sums, address);
        }
        let totals = sums.snapshot(Lost::default()).totals;
        assert_eq!((totals.counts.live_bytes, totals.live_samples, totals.live_bytes_error), (0, 0, None));
        assert_eq!(totals.counts.alloc_bytes, 2 * 16384 * 24 + (1 << 20));
        assert_eq!(totals.samples, 3);
    }

    #[test]
    fn a_block_that_stays_counts_once_whatever_was_lost() {
        let mut sums = sums();
        allocated(&mut sums, 0x10, 1 << 20, &[1]);
        let stays = |sums: &mut Sums| {
            sums.add(Note { kind: Kind::Stays, address: 0x10, size: 1 << 20 }, &[2]);
            sums.snapshot(Lost::default())
                .sites
                .iter()
                .map(|site| site.counts.live_objects)
                .collect::<Vec<_>>()
        };
        // That it was to be resized was lost.
        assert_eq!(stays(&mut sums), [0, 1]);
        // It was not: the block has the place that it had, and not one that had its address before.
        sums.add(Note { kind: Kind::ReallocBegin, address: 0x10, size: 0 }, &[]);
        assert_eq!(stays(&mut sums), [0, 1]);
        sums.add(Note { kind: Kind::ReallocBegin, address: 0x10, size: 0 }, &[]);
        sums.add(Note { kind: Kind::ReallocBegin, address: 0x10, size: 0 }, &[]);
        assert_eq!(stays(&mut sums), [0, 0, 1]);
        freed(&mut sums, 0x10);
        let totals = sums.snapshot(Lost::default()).totals;
        assert_eq!((totals.counts.live_bytes, totals.live_samples, totals.samples), (0, 0, 1));
    }

    #[test]
    fn an_error_is_known_of_samples_that_are_all_there() {
        let mut sums = sums();
        let errors = |sums: &Sums, others| {
            let totals = sums.snapshot(Lost { frees: 0, others }).totals;
            [totals.alloc_bytes_error, totals.live_bytes_error]
        };
        assert_eq!(errors(&sums, 0), [None, None], "nothing is known of none");
        allocated(&mut sums, 0x10, 1 << 20, &[1]);
        assert_eq!(errors(&sums, 0), [Some(0.0), Some(0.0)]);
        assert_eq!(errors(&sums, 1), [None, None]);
        allocated(&mut sums, UNFOLLOWED, 1 << 20, &[1]);
        assert_eq!(errors(&sums, 0), [Some(0.0), None]);
        let totals = sums.snapshot(Lost::default()).totals;
        assert_eq!((totals.counts.alloc_bytes, totals.counts.live_bytes), (2 << 20, 1 << 20));
        assert_eq!((totals.samples, totals.live_samples, totals.unfollowed_samples), (2, 1, 1));
    }

    #[test]
    fn an_address_that_comes_again_was_freed() {
        let mut sums = sums();
        allocated(&mut sums, 0x10, 1 << 20, &[1]);
        allocated(&mut sums, 0x10, 1 << 21, &[2]);
        assert_eq!(sums.snapshot(Lost::default()).totals.counts.live_bytes, 1 << 21);
    }

    #[test]
    fn what_finds_no_place_is_in_the_totals_and_is_counted() {
        let mut sums = sums();
        let most = MOST_SITES as u64 + 100;
        for n in 0..most {
            allocated(&mut sums, n * 16 + 16, 1 << 20, &[n, 7]);
        }
        let snapshot = sums.snapshot(Lost::default());
        assert_eq!(snapshot.sites.len(), MOST_SITES);
        assert_eq!(snapshot.totals.counts.live_objects, most);
        let sum: u64 = snapshot.sites.iter().map(|site| site.counts.live_objects).sum();
        assert_eq!(sum, most);
        assert_eq!(snapshot.totals.samples_without_stack, snapshot.sites[0].counts.alloc_objects);
        assert_eq!(snapshot.totals.samples_without_stack, 101);
    }
}
