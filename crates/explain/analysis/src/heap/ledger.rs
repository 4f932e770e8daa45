//! The accounts: what every event changes.

mod allocators;
mod carried;
mod ending;
mod out_of_order;
mod sampled;
mod stack_sites;

pub(crate) use carried::CarriedOfSite;
pub use carried::CarriedSums;

use super::exits::Exits;
use super::growth::Fresh;
use super::handover::Handovers;
use super::live::{Block, LiveBlocks, MOST_REALLOCATIONS, Tick, cut_size};
use super::recent::Recent;
use super::reconcile::Reconciler;
use super::sampling::{SampleAccount, Sampling};
use super::site::{Gauge, SiteStats};
use super::sizes::Sizes;
use super::timing::{Call, LastCall, NO_CALL};
use super::touched_pages::TouchedHeap;
use crate::budget::Budget;
use crate::marks::{MarkAccount, Now};
use crate::timeline::Timeline;
use crate::totals::Totals;
use crate::units::Bytes;
use heapwise_trace::event::{AllocatorNumber, Event, StackId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Processes of which one is a fork of the other.
const MOST_ANCESTORS: usize = 1024;

/// A block on its way from one address to another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Taken {
    /// It was live, and is still counted so.
    Live(Block),
    /// It was given up as lost before (see [`super::reconcile`]) and is counted no more.
    Gone(Block),
    /// Its allocation was not seen.
    Unknown,
}

/// Accounts of one thread.
#[derive(Debug)]
pub(crate) struct ThreadLedger {
    pub(crate) process: u32,
    pub(crate) counts: Totals,
    pub(crate) live: Gauge,
    pub(crate) freed_elsewhere: u64,
    /// That block, if nothing was freed since.
    pub(super) fresh: Fresh,
    /// Its last call, to which a measured time belongs.
    pub(super) last_call: LastCall,
    pub(super) in_transit: Option<(u64, Taken)>,
}

/// Accounts of one process.
#[derive(Debug)]
pub(crate) struct ProcessLedger {
    pub(crate) blocks: LiveBlocks,
    pub(crate) touched_pages: TouchedHeap,
    /// The same for each allocator but the one that is found by name.
    pub(crate) touched_by: Vec<(AllocatorNumber, TouchedHeap)>,
    pub(crate) live: Gauge,
    pub(crate) exit: Gauge,
    /// The process that it is a fork of.
    pub(crate) forked_from: Option<u32>,
    /// When it was first heard of.
    since_ns: u64,
    /// By stack.
    pub(super) sites: Vec<u32>,
    /// Of stacks that are far behind all others, as only damaged recordings have them.
    far_sites: FxHashMap<StackId, u32>,
    n_sites: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Many {
    pub(super) threads: bool,
    pub(super) processes: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) threads: Vec<ThreadLedger>,
    /// The last blocks of each thread.
    pub(super) recent: Vec<Recent>,
    pub(crate) processes: Vec<ProcessLedger>,
    pub(crate) sites: Vec<SiteStats>,
    /// Process and stack of each site.
    pub(crate) site_stacks: Vec<(u32, StackId)>,
    /// Which allocator the blocks of each site are from.
    pub(crate) site_allocators: Vec<AllocatorNumber>,
    /// Whether there is any but the one that is found by name. PERF: in most recordings there is none.
    pub(super) has_others: bool,
    /// Further sites of a stack, for blocks of other allocators than its first one's.
    pub(super) other_sites: FxHashMap<(u32, StackId, AllocatorNumber), u32>,
    pub(crate) overall: Gauge,
    /// How often the overall live bytes were higher than ever before.
    pub(super) peaks: u64,
    pub(crate) peak_ns: u64,
    pub(crate) sizes: Sizes,
    pub(crate) timeline: Timeline,
    pub(crate) handovers: Handovers,
    pub(crate) exits: Exits,
    pub(crate) marks: MarkAccount,
    pub(super) reconciler: Reconciler<Block>,
    pub(super) epoch: u64,
    /// Whether events of this epoch were expected in an earlier section.
    pub(super) late: bool,
    /// Whether several threads have events in this epoch.
    pub(super) shared: bool,
    /// Whether there is more than one thread, or process. The only one's gauge is the overall one.
    pub(super) many: Many,
    pub(super) now_ns: u64,
    pub(crate) sampling: Sampling,
    pub(crate) sample: SampleAccount,
    /// What the file began with.
    pub(crate) carried: CarriedSums,
    /// The same by site.
    pub(crate) carried_by_site: FxHashMap<u32, CarriedOfSite>,
    pub(crate) budget: Budget,
}

impl Ledger {
    pub(crate) fn add_process(&mut self) -> u32 {
        if let ([only], false) = (self.processes.as_mut_slice(), self.many.processes) {
            only.live = self.overall;
        }
        self.processes.push(ProcessLedger {
            blocks: LiveBlocks::new(self.budget.clone()),
            touched_pages: TouchedHeap::new(self.budget.clone()),
            touched_by: Vec::new(),
            live: Gauge::default(),
            exit: Gauge::default(),
            forked_from: None,
            since_ns: self.now_ns,
            sites: Vec::new(),
            far_sites: FxHashMap::default(),
            n_sites: 0,
        });
        self.many.processes = self.processes.len() > 1;
        self.processes.len() as u32 - 1
    }

    pub(crate) fn add_thread(&mut self, process: u32) -> u32 {
        if let ([only], false) = (self.threads.as_mut_slice(), self.many.threads) {
            only.live = self.overall;
        }
        self.threads.push(ThreadLedger {
            process,
            counts: Totals::default(),
            live: Gauge::default(),
            freed_elsewhere: 0,
            fresh: Fresh::default(),
            last_call: NO_CALL,
            in_transit: None,
        });
        self.recent.push(Recent::default());
        self.many.threads = self.threads.len() > 1;
        self.threads.len() as u32 - 1
    }

    /// A process, and then those that it was forked from.
    pub(crate) fn line_of(&self, process: u32) -> Vec<usize> {
        let parent = |&at: &usize| self.processes[at].forked_from.map(|parent| parent as usize);
        // A process that is its own ancestor only occurs in damaged recordings, as do very many generations.
        let first = Some(process as usize).filter(|&at| at < self.processes.len());
        let mut line: Vec<usize> = std::iter::successors(first, parent).take(MOST_ANCESTORS).collect();
        let mut known = FxHashSet::default();
        line.retain(|at| known.insert(*at));
        line
    }

    /// The epoch of the following events.
    pub(crate) fn open_epoch(&mut self, epoch: u64, now_ns: u64, late: bool, shared: bool) {
        self.close_epoch();
        self.epoch = epoch;
        self.late = late;
        self.shared = shared;
        // Time does not go back for late events: what they changed was not known before now.
        self.now_ns = self.now_ns.max(now_ns);
        self.timeline.advance(self.now_ns, self.overall.bytes);
    }

    /// Does what the event says, if it is possible now: an address is handed out that is not live, or taken back
    /// that is. Otherwise changes nothing and returns `false`.
    #[inline(always)]
    pub(crate) fn apply(&mut self, thread: u32, event: &Event) -> bool {
        self.event::<false>(thread, event)
    }

    /// Does what the event says, and remembers what was wrong about it.
    #[cold]
    pub(crate) fn force(&mut self, thread: u32, event: &Event) {
        self.event::<true>(thread, event);
    }

    #[inline(always)]
    fn event<const FORCE: bool>(&mut self, thread: u32, event: &Event) -> bool {
        match *event {
            Event::Alloc { address, size, stack, allocator, .. } => {
                self.alloc::<FORCE>(thread, address.0, size, (stack, allocator))
            }
            Event::Free { address, .. } => self.free::<FORCE>(thread, address.0),
            Event::Realloc { old, new, size, stack, allocator, .. } => {
                self.resize::<FORCE>(thread, (old.0, new.0), size, (stack, allocator))
            }
            Event::ReallocBegin { old, .. } => {
                let Some(taken) = self.take::<FORCE>(thread, old.0, true) else { return false };
                if self.sampling.is_on() {
                    // Whether the block is recorded at its new size was decided anew.
                    if let Taken::Live(block) = taken {
                        self.lose(self.threads[thread as usize].process, &block);
                    }
                } else {
                    self.threads[thread as usize].in_transit = Some((old.0, taken));
                }
                true
            }
            Event::ReallocEnd { new, size, stack, allocator } => {
                let process = self.threads[thread as usize].process;
                if !FORCE && self.processes[process as usize].blocks.contains(new.0) {
                    return false;
                }
                let from = self.threads[thread as usize].in_transit.take();
                let moved = from.is_none_or(|(old, _)| old != new.0);
                let taken = from.map_or(Taken::Unknown, |t| t.1);
                self.put_resized(thread, taken, moved, (new.0, size), (stack, allocator));
                true
            }
            Event::Failed { stack, .. } => {
                let process = self.threads[thread as usize].process;
                let site = self.site(process, stack);
                self.sites[site as usize].failed += 1;
                self.threads[thread as usize].counts.failed_allocations += 1;
                true
            }
            Event::Timed { ticks } => {
                let last_call = self.threads[thread as usize].last_call;
                if let Some(site) = self.sites.get_mut(last_call.site as usize) {
                    site.times.get_or_insert_default().add(last_call.call, last_call.size, ticks);
                }
                true
            }
            Event::Mark { kind, name, ticks } => {
                let now = self.now(thread, ticks);
                self.marks.mark(kind, name, now);
                true
            }
            // Nothing of the heap.
            _ => true,
        }
    }

    /// What the accounts say for a mark of a thread.
    fn now(&self, thread: u32, ticks: u64) -> Now {
        let ledger = &self.threads[thread as usize];
        let own = if self.many.threads { &ledger.live } else { &self.overall };
        Now {
            thread,
            process: ledger.process,
            time_ns: self.now_ns,
            ticks,
            counts: ledger.counts,
            own_live_bytes: own.bytes,
            live_bytes: self.overall.bytes,
        }
    }

    #[inline(always)]
    fn alloc<const FORCE: bool>(
        &mut self,
        thread: u32,
        address: u64,
        size: u64,
        (stack, allocator): (StackId, AllocatorNumber),
    ) -> bool {
        let process = self.threads[thread as usize].process;
        let site = self.site_of(process, stack, allocator);
        let slot = self.recent[thread as usize].slot();
        let block = Block { size, born: Tick::at(self.now_ns), site, thread, reallocations: 0, slot };
        if !self.processes[process as usize].blocks.insert(address, block) {
            if !FORCE {
                return false;
            }
            self.replace(process, address, block);
        }
        self.mark_touched(process, allocator, address, size);
        let weight = self.sampling.weight(cut_size(size));
        let counts = &mut self.threads[thread as usize];
        counts.counts.allocations += weight;
        counts.counts.allocated_bytes += Bytes(cut_size(size).wrapping_mul(weight));
        self.recent[thread as usize].push(address);
        counts.fresh = Fresh::new(site, cut_size(size));
        counts.last_call = LastCall { site, call: Call::Alloc, size };
        let stats = &mut self.sites[site as usize];
        stats.allocations += weight;
        self.gain(process, site, thread, size, weight);
        if self.reconciler.open {
            self.cancel(process, address, thread);
        }
        true
    }

    #[inline]
    fn free<const FORCE: bool>(&mut self, thread: u32, address: u64) -> bool {
        let Some(taken) = self.take::<FORCE>(thread, address, false) else { return false };
        let weight = match taken {
            Taken::Live(block) | Taken::Gone(block) => self.sampling.weight(block.size),
            Taken::Unknown => 1,
        };
        self.threads[thread as usize].counts.deallocations += weight;
        self.threads[thread as usize].last_call = NO_CALL;
        if let Taken::Live(block) = taken {
            let process = self.threads[thread as usize].process;
            self.threads[thread as usize].last_call =
                LastCall { site: block.site, call: Call::Free, size: block.size };
            self.end(process, &block, thread, address);
        }
        true
    }

    #[inline(never)]
    fn resize<const FORCE: bool>(
        &mut self,
        thread: u32,
        (old, new): (u64, u64),
        size: u64,
        by: (StackId, AllocatorNumber),
    ) -> bool {
        let process = self.threads[thread as usize].process;
        if !FORCE && old != new && self.processes[process as usize].blocks.contains(new) {
            return false;
        }
        // PERF: a reallocation in place could leave the block where it is; two searches for a warm entry cost less than the
        // second way through the accounts would in clarity.
        let Some(taken) = self.take::<FORCE>(thread, old, true) else { return false };
        self.put_resized(thread, taken, old != new, (new, size), by);
        true
    }

    /// Takes the block at an address out of the table. `None` if there is none, unless that is to be accepted.
    #[inline]
    fn take<const FORCE: bool>(&mut self, thread: u32, address: u64, resize: bool) -> Option<Taken> {
        let process = self.threads[thread as usize].process;
        let place = (process, address);
        if self.reconciler.open
            && let Some(block) = self.reconciler.take_displaced(place)
        {
            self.reconciler.log_free(place, thread);
            return Some(Taken::Live(block));
        }
        if self.late
            && let Some(taken) = self.settle(place)
        {
            return Some(taken);
        }
        match self.processes[process as usize].blocks.remove(address) {
            Some(block) => {
                if self.shared {
                    self.reconciler.log_free(place, thread);
                }
                Some(Taken::Live(block))
            }
            None if FORCE => {
                if !self.reconciler.free_in_advance(place, thread, resize) {
                    self.threads[thread as usize].counts.unknown_frees += 1;
                }
                Some(Taken::Unknown)
            }
            None => None,
        }
    }

    #[inline]
    fn put_resized(
        &mut self,
        thread: u32,
        taken: Taken,
        moved: bool,
        (new, size): (u64, u64),
        (stack, allocator): (StackId, AllocatorNumber),
    ) {
        let process = self.threads[thread as usize].process;
        // It stays where it is from. Of one that was there before only the call says whose it is.
        let allocator = match taken {
            Taken::Live(block) | Taken::Gone(block) => self.allocator_of(block.site),
            Taken::Unknown => allocator,
        };
        let site = self.site_of(process, stack, allocator);
        let (reallocations, born, old) = match taken {
            Taken::Live(block) => {
                self.lose(process, &block);
                (block.reallocations, block.born, block.size)
            }
            Taken::Gone(block) => (block.reallocations, block.born, block.size),
            Taken::Unknown => (0, Tick::at(self.now_ns), 0),
        };
        let weight = self.sampling.weight(cut_size(size));
        let larger = cut_size(size) > old && !self.sampling.is_on();
        let reallocations = reallocations + u32::from(larger);
        let slot = self.recent[thread as usize].slot();
        let block = Block { size, born, site, thread, reallocations, slot };
        if !self.processes[process as usize].blocks.insert(new, block) {
            self.replace(process, new, block);
        }
        self.mark_touched(process, allocator, new, size);
        let counts = &mut self.threads[thread as usize];
        counts.counts.reallocations += weight;
        counts.counts.allocated_bytes += Bytes(cut_size(size).wrapping_mul(weight));
        self.recent[thread as usize].push(new);
        counts.fresh = Fresh::default();
        counts.last_call = LastCall { site, call: Call::Reallocate, size };
        let stats = &mut self.sites[site as usize];
        stats.reallocations += weight;
        stats.shrinks += u64::from(cut_size(size) < old);
        if moved {
            stats.copied_bytes = stats.copied_bytes.wrapping_add(old.min(cut_size(size)));
        }
        stats.most_reallocations = stats.most_reallocations.max(u64::from(reallocations));
        self.gain(process, site, thread, size, weight);
        if self.sampling.is_on() {
            self.sample.resized(weight);
            self.sites[site as usize].sample.get_or_insert_default().resized(weight);
        }
        if self.reconciler.open {
            self.cancel(process, new, thread);
        }
    }

    /// A block is freed.
    #[inline(always)]
    fn end(&mut self, process: u32, block: &Block, thread: u32, address: u64) {
        if self.sampling.is_on() {
            return self.end_sampled(process, block, thread);
        }
        let stats = &mut self.sites[block.site as usize];
        stats.deallocations += 1;
        let now = Tick::at(self.now_ns);
        stats.lifetimes.add(stats.deallocations, now.since_ns(block.born));
        let by = &mut self.threads[thread as usize];
        let fresh = std::mem::take(&mut by.fresh);
        let recent = &mut self.recent[thread as usize];
        let is_succeeded = fresh.succeeds(block) && recent.last() != address;
        if is_succeeded {
            stats.copied_bytes = stats.copied_bytes.wrapping_add(block.size);
            let steps = (block.reallocations + 1).min(MOST_REALLOCATIONS);
            self.processes[process as usize].blocks.set_reallocations(recent.last(), steps);
        } else if block.reallocations > 0 {
            stats.add_growth(block.reallocations, block.size);
        }
        if block.thread == thread {
            // What a larger block takes the place of did not end here.
            if let Some(others) = recent.take(address, block.slot)
                && !is_succeeded
            {
                by.counts.temporary_allocations += u64::from(others == 0);
                stats.freed_after.add(others);
            }
        } else {
            stats.hand_over((block.thread, thread), 1);
            self.handovers.add((block.thread, thread), 1, block.size);
            self.threads[block.thread as usize].freed_elsewhere += 1;
        }
        self.lose(process, block);
    }

    #[inline(always)]
    fn gain(&mut self, process: u32, site: u32, thread: u32, size: u64, weight: u64) {
        let size = cut_size(size);
        if self.sampling.is_on() {
            return self.gain_sampled(process, site, thread, size, weight);
        }
        let stats = &mut self.sites[site as usize];
        stats.allocated_bytes = stats.allocated_bytes.wrapping_add(size);
        stats.gain(size, self.peaks);
        self.sizes.add(size);
        self.rise(process, thread, size, 1);
    }

    /// More is live.
    #[inline(always)]
    fn rise(&mut self, process: u32, thread: u32, bytes: u64, blocks: u64) {
        if self.many.threads {
            self.threads[thread as usize].live.add_many(bytes, blocks);
        }
        if self.many.processes {
            self.processes[process as usize].live.add_many(bytes, blocks);
        }
        if self.overall.add_many(bytes, blocks) {
            self.peaks += 1;
            self.peak_ns = self.now_ns;
        }
        self.timeline.raise(self.overall.bytes);
    }

    /// Less is live.
    #[inline(always)]
    fn fall(&mut self, process: u32, thread: u32, bytes: u64, blocks: u64) {
        if self.many.threads {
            self.threads[thread as usize].live.remove_many(bytes, blocks);
        }
        if self.many.processes {
            self.processes[process as usize].live.remove_many(bytes, blocks);
        }
        self.overall.remove_many(bytes, blocks);
    }

    #[inline(always)]
    fn lose(&mut self, process: u32, block: &Block) {
        if self.sampling.is_on() {
            return self.lose_sampled(process, block);
        }
        let size = block.size;
        self.sites[block.site as usize].lose(size, self.peaks);
        self.fall(process, block.thread, size, 1);
    }

    /// How often the overall live bytes were higher than ever before; belongs to [`SiteStats::at_peak`].
    pub(crate) fn peaks(&self) -> u64 {
        self.peaks
    }
}
