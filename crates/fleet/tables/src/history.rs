//! Live bytes of a few sites over time, from a second look at the recording.
//!
//! Which sites have most at the peak or at the end is known when a recording has been read, and what they had before is in no account
//! then: that of all sites would take memory for each of them.

use crate::id::Id;
use crate::stacks::Stacks;
use heapwise_analysis::{Analysis, Moment, Nanos, Observer};
use heapwise_trace::event::{BlockAddress, Epoch, Event, StackId};
use heapwise_trace::sampling;
use rustc_hash::{FxHashMap, FxHashSet};

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

/// Follows the sites with the most memory.
#[derive(Debug)]
pub(crate) struct Follower {
    sample_bytes: u64,
    /// How long a span is.
    pub(crate) width: Nanos,
    pub(crate) histories: Vec<History>,
    /// The history of each recorded stack that has one.
    of_stacks: FxHashMap<(usize, StackId), usize>,
    process_of: FxHashMap<usize, usize>,
    ended: FxHashSet<usize>,
    /// The time of the last events.
    now: Nanos,
    /// History and bytes of each live block, by process and address.
    live: FxHashMap<(usize, BlockAddress), (usize, u64)>,
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
        let histories = most.iter().map(|&(_, stack)| History { stack, levels: Vec::new(), live: 0 });
        Self {
            sample_bytes: analysis.meta.sample_bytes,
            width: Nanos((analysis.duration.0 / MOST_POINTS + 1).max(1)),
            histories: histories.collect(),
            of_stacks: recorded.filter_map(|(recorded, site)| Some((recorded, of(site)?))).collect(),
            process_of: FxHashMap::default(),
            ended: FxHashSet::default(),
            now: Nanos(0),
            live: FxHashMap::default(),
        }
    }

    fn allocate(&mut self, at: Nanos, process: usize, address: BlockAddress, size: u64, stack: StackId) {
        // Its address was handed out before: it must have been freed.
        self.free(at, process, address);
        if self.ended.contains(&process) {
            return;
        }
        let Some(&history) = self.of_stacks.get(&(process, stack)) else { return };
        let bytes = size.saturating_mul(sampling::weight(self.sample_bytes, size));
        self.live.insert((process, address), (history, bytes));
        let span = self.span(at);
        self.histories[history].change(span, |live| live.saturating_add(bytes));
    }

    fn free(&mut self, at: Nanos, process: usize, address: BlockAddress) {
        let Some((history, bytes)) = self.live.remove(&(process, address)) else { return };
        let span = self.span(at);
        self.histories[history].change(span, |live| live.saturating_sub(bytes));
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
        self.now = at.time;
        for event in events {
            match *event {
                Event::Alloc { address, size, stack, .. } => {
                    self.allocate(at.time, process, address, size, stack);
                }
                Event::Free { address, .. } | Event::ReallocBegin { old: address, .. } => {
                    self.free(at.time, process, address);
                }
                Event::Realloc { old, new, size, stack, .. } => {
                    self.free(at.time, process, old);
                    self.allocate(at.time, process, new, size, stack);
                }
                Event::ReallocEnd { new, size, stack, .. } => {
                    self.allocate(at.time, process, new, size, stack);
                }
                _ => {}
            }
        }
    }

    fn process_ended(&mut self, process: usize, _: Epoch) {
        // What it has not freed is gone. Events that are passed on later are of before.
        let gone = self.live.extract_if(|&(of, _), _| of == process);
        let gone: Vec<(usize, u64)> = gone.map(|(_, block)| block).collect();
        let span = self.span(self.now);
        for (history, bytes) in gone {
            self.histories[history].change(span, |live| live.saturating_sub(bytes));
        }
        self.ended.insert(process);
    }
}
