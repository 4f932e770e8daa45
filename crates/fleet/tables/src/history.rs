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

/// A block of a process.
///
/// PERF: addresses have 48 bits, and a key of one word is compared and hashed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Block(u64);

impl Block {
    fn new(process: usize, address: BlockAddress) -> Self {
        Self(address.0 ^ (process as u64) << 48)
    }

    fn process(self) -> usize {
        (self.0 >> 48) as usize
    }
}

/// Follows the sites with the most memory.
#[derive(Debug)]
pub(crate) struct Follower {
    sample_bytes: u64,
    /// How long a span is.
    pub(crate) width: Nanos,
    pub(crate) histories: Vec<History>,
    /// By process and stack: the history of each recorded stack that has one, plus one.
    ///
    /// PERF: ids of stacks count from 1 in each process, so a table takes less time than a map, which is asked for every event.
    of_stacks: Vec<Vec<u32>>,
    process_of: FxHashMap<usize, usize>,
    ended: FxHashSet<usize>,
    /// The time of the last events.
    now: Nanos,
    /// History and bytes of each live block, by process and address.
    live: FxHashMap<Block, (u32, u64)>,
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
        let mut of_stacks: Vec<Vec<u32>> = Vec::new();
        for ((process, stack), site) in analysis.recorded_stacks() {
            let Some(history) = of(site) else { continue };
            // Ids of processes and stacks are believed by the analysis, too: both have a row in its tables.
            let stack = stack.0 as usize;
            of_stacks.resize_with(of_stacks.len().max(process + 1), Vec::new);
            let stacks = &mut of_stacks[process];
            stacks.resize(stacks.len().max(stack + 1), 0);
            stacks[stack] = history as u32 + 1;
        }
        let histories = most.iter().map(|&(_, stack)| History { stack, levels: Vec::new(), live: 0 });
        Self {
            sample_bytes: analysis.meta.sample_bytes,
            width: Nanos((analysis.duration.0 / MOST_POINTS + 1).max(1)),
            histories: histories.collect(),
            of_stacks,
            process_of: FxHashMap::default(),
            ended: FxHashSet::default(),
            now: Nanos(0),
            live: FxHashMap::default(),
        }
    }

    fn history_of(&self, process: usize, stack: StackId) -> Option<u32> {
        self.of_stacks.get(process)?.get(stack.0 as usize)?.checked_sub(1)
    }

    fn allocate(&mut self, at: Nanos, process: usize, address: BlockAddress, size: u64, stack: StackId) {
        let block = Block::new(process, address);
        let history = if self.ended.contains(&process) { None } else { self.history_of(process, stack) };
        let Some(history) = history else {
            // Its address was handed out before: what was there must have been freed.
            return self.free(at, block);
        };
        let bytes = size.saturating_mul(sampling::weight(self.sample_bytes, size));
        if let Some((before, bytes)) = self.live.insert(block, (history, bytes)) {
            self.lose(at, before, bytes);
        }
        let span = self.span(at);
        self.histories[history as usize].change(span, |live| live.saturating_add(bytes));
    }

    fn free(&mut self, at: Nanos, block: Block) {
        if let Some((history, bytes)) = self.live.remove(&block) {
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
        self.now = at.time;
        for event in events {
            match *event {
                Event::Alloc { address, size, stack, .. } => {
                    self.allocate(at.time, process, address, size, stack);
                }
                Event::Free { address, .. } | Event::ReallocBegin { old: address, .. } => {
                    self.free(at.time, Block::new(process, address));
                }
                Event::Realloc { old, new, size, stack, .. } => {
                    self.free(at.time, Block::new(process, old));
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
        let gone = self.live.extract_if(|block, _| block.process() == process);
        let gone: Vec<(u32, u64)> = gone.map(|(_, of)| of).collect();
        for (history, bytes) in gone {
            self.lose(self.now, history, bytes);
        }
        self.ended.insert(process);
    }
}
