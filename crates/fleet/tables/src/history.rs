//! Live bytes of a few sites over time, from a second look at the recording.
//!
//! Which sites have most at the peak or at the end is known when a recording has been read, and what they had before is in no account
//! then: that of all sites would take memory for each of them.

use crate::id::Id;
use crate::stacks::Stacks;
use heapwise_analysis::{Analysis, Moment, Nanos, Observer};
use heapwise_trace::event::{BlockAddress, Epoch, Event, StackId};
use heapwise_trace::sampling;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Sites that are followed.
const MOST_SITES: usize = 64;
/// Points of each.
const MOST_POINTS: u64 = 256;

/// The live bytes of one site over time.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) stack: Id,
    /// The highest level in each span.
    pub(crate) levels: Vec<u64>,
    live: u64,
}

/// A stack of a process.
///
/// PERF: one word, which is compared and hashed at once, for every event.
fn key(process: usize, stack: StackId) -> u64 {
    (process as u64) << 32 | u64::from(stack.0)
}

/// Follows the sites with the most memory.
#[derive(Debug)]
pub(crate) struct Follower {
    sample_bytes: u64,
    /// How long a span is.
    pub(crate) width: Nanos,
    pub(crate) histories: Vec<History>,
    /// The history of each recorded stack that has one, by process and stack. A recording may have any number for a stack, so it is no
    /// table.
    of_stacks: FxHashMap<u64, u32>,
    process_of: FxHashMap<usize, usize>,
    processes: FxHashMap<usize, Process>,
    /// Processes whose end is known and may still be ahead, by epoch. Events are passed on later than the ends that follow them.
    ends: BTreeMap<Epoch, Vec<usize>>,
    /// The time of the last events.
    now: Nanos,
}

/// What a process has.
#[derive(Debug, Default)]
struct Process {
    /// History and bytes of each live block.
    live: FxHashMap<BlockAddress, (u32, u64)>,
}

impl Follower {
    pub(crate) fn new(analysis: &Analysis, stacks: &Stacks<'_>) -> Self {
        let mut most: Vec<(u64, Id)> = Vec::new();
        for site in &stacks.sites {
            let numbers = &site.sums.numbers;
            let bytes = numbers.peak_bytes.max(numbers.live_at_exit_bytes);
            most.extend(site.stack.filter(|_| bytes > 0).map(|stack| (bytes, stack)));
        }
        most.sort_by_key(|&(bytes, stack)| (std::cmp::Reverse(bytes), stack));
        most.truncate(MOST_SITES);
        let place: FxHashMap<Id, usize> = most.iter().enumerate().map(|(at, most)| (most.1, at)).collect();
        let of = |site| stacks.of_site(site).and_then(|stack| place.get(&stack).copied());
        let recorded = analysis.recorded_stacks();
        let of_stacks =
            recorded.filter_map(|((process, stack), site)| Some((key(process, stack), of(site)? as u32)));
        let of_stacks = of_stacks.collect();
        let histories = most.iter().map(|&(_, stack)| History { stack, levels: Vec::new(), live: 0 });
        Self {
            sample_bytes: analysis.meta.sample_bytes,
            width: Nanos(analysis.duration.0 / MOST_POINTS + 1),
            histories: histories.collect(),
            of_stacks,
            process_of: FxHashMap::default(),
            processes: FxHashMap::default(),
            ends: BTreeMap::new(),
            now: Nanos(0),
        }
    }

    /// The processes that ended before this epoch are gone, with what they had.
    fn end_before(&mut self, epoch: Epoch) {
        while self.ends.first_key_value().is_some_and(|(end, _)| *end < epoch) {
            let Some((_, gone)) = self.ends.pop_first() else { return };
            for process in gone {
                let live = self.processes.remove(&process).unwrap_or_default().live;
                live.into_values().for_each(|(history, bytes)| self.lose(self.now, history, bytes));
            }
        }
    }

    fn allocate(
        &mut self,
        live: &mut FxHashMap<BlockAddress, (u32, u64)>,
        (at, process): (Nanos, usize),
        (address, size): (BlockAddress, u64),
        stack: StackId,
    ) {
        let Some(&history) = self.of_stacks.get(&key(process, stack)) else {
            // Its address was handed out before: what was there must have been freed.
            return self.free(live, at, address);
        };
        let bytes = size.saturating_mul(sampling::weight(self.sample_bytes, size));
        if let Some((before, bytes)) = live.insert(address, (history, bytes)) {
            self.lose(at, before, bytes);
        }
        let span = self.span(at);
        self.histories[history as usize].change(span, |live| live.saturating_add(bytes));
    }

    fn free(&mut self, live: &mut FxHashMap<BlockAddress, (u32, u64)>, at: Nanos, address: BlockAddress) {
        if let Some((history, bytes)) = live.remove(&address) {
            self.lose(at, history, bytes);
        }
    }

    fn lose(&mut self, at: Nanos, history: u32, bytes: u64) {
        let span = self.span(at);
        self.histories[history as usize].change(span, |live| live.saturating_sub(bytes));
    }

    /// All levels, from the start to the end of the recording.
    pub(crate) fn finish(mut self, duration: Nanos) -> Self {
        let last = self.span(duration);
        self.histories.iter_mut().for_each(|history| history.reach(last));
        self
    }

    /// A recording may say that anything was at any time; what is later than its end belongs to its last span.
    fn span(&self, at: Nanos) -> usize {
        (at.0 / self.width.0).min(MOST_POINTS - 1) as usize
    }
}

impl History {
    fn change(&mut self, span: usize, change: impl FnOnce(u64) -> u64) {
        self.reach(span);
        self.live = change(self.live);
        if let Some(level) = self.levels.get_mut(span) {
            *level = (*level).max(self.live);
        }
    }

    /// Has all spans up to this one. A span begins with what was live before it.
    fn reach(&mut self, span: usize) {
        if self.levels.len() <= span {
            self.levels.resize(span + 1, self.live);
        }
    }
}

impl Observer for Follower {
    fn thread(&mut self, thread: usize, process: usize, _: u64) {
        self.process_of.insert(thread, process);
    }

    fn events(&mut self, at: Moment, thread: usize, events: &[Event]) {
        let Some(&process) = self.process_of.get(&thread) else { return };
        self.end_before(at.epoch);
        self.now = at.time;
        let mut live = std::mem::take(&mut self.processes.entry(process).or_default().live);
        let (time, own) = (at.time, &mut live);
        for event in events {
            match *event {
                Event::Alloc { address, size, stack, .. } => {
                    self.allocate(own, (time, process), (address, size), stack);
                }
                Event::Free { address, .. } | Event::ReallocBegin { old: address, .. } => {
                    self.free(own, time, address);
                }
                Event::Realloc { old, new, size, stack, .. } => {
                    self.free(own, time, old);
                    self.allocate(own, (time, process), (new, size), stack);
                }
                Event::ReallocEnd { new, size, stack, .. } => {
                    self.allocate(own, (time, process), (new, size), stack);
                }
                _ => {}
            }
        }
        self.processes.entry(process).or_default().live = live;
    }

    fn process_ended(&mut self, process: usize, epoch: Epoch) {
        self.ends.entry(epoch).or_default().push(process);
    }
}
