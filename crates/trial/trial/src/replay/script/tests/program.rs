//! A simulated program: what its threads really did, and the recording of it.

use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::Writer;
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::ClockReadings;
use heapwise_trace::live::words;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What happens next. Threads and blocks are chosen among those that are there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Alloc {
        who: usize,
        size: u64,
    },
    /// Any thread may free any block: it was handed over. So many thousandths of it were touched.
    Free {
        who: usize,
        which: usize,
        touched: Option<u64>,
    },
    Reallocate {
        who: usize,
        which: usize,
        size: u64,
    },
    /// The clock advances while a thread resizes a block.
    TickDuring {
        who: usize,
        which: usize,
        size: u64,
    },
    Spawn {
        who: usize,
    },
    Join {
        who: usize,
        which: usize,
    },
    /// A thread ends by itself, and the collector notices that.
    Leave {
        which: usize,
    },
    Tick,
    Drain,
}

/// Any program.
pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let who = 0usize..16;
    let which = 0usize..200;
    let size = || prop_oneof![6 => 0u64..5000, 1 => (128u64 << 10)..(1 << 22)];
    let step = prop_oneof![
        12 => (who.clone(), size()).prop_map(|(who, size)| Step::Alloc { who, size }),
        8 => (who.clone(), which.clone(), proptest::option::of(0u64..1001))
            .prop_map(|(who, which, touched)| Step::Free { who, which, touched }),
        4 => (who.clone(), which.clone(), size()).prop_map(|(who, which, size)| Step::Reallocate { who, which, size }),
        1 => (who.clone(), which.clone(), size()).prop_map(|(who, which, size)| Step::TickDuring { who, which, size }),
        1 => who.clone().prop_map(|who| Step::Spawn { who }),
        1 => (who.clone(), which.clone()).prop_map(|(who, which)| Step::Join { who, which }),
        1 => which.prop_map(|which| Step::Leave { which }),
        3 => Just(Step::Tick),
        1 => Just(Step::Drain),
    ];
    proptest::collection::vec(step, 0..600)
}

/// One call of a thread, in words of the truth: blocks have names that are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Alloc {
        block: usize,
        size: u64,
    },
    Free {
        block: usize,
    },
    Reallocate {
        before: usize,
        block: usize,
        size: u64,
    },
    /// A thread with this place among those of the truth.
    Spawn {
        thread: usize,
    },
    Join {
        thread: usize,
    },
}

/// A block of the truth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) name: usize,
    address: u64,
    pub(super) size: u64,
}

/// What is true of a thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    handle: u64,
    pub(super) calls: Vec<Call>,
    is_gone: bool,
    pub(super) is_joined: bool,
    joined_by: Option<usize>,
    joined_at: u64,
    noticed: Option<u64>,
    ring: Vec<Event>,
    epoch: u64,
    /// Whether it has an event, hence is in the recording.
    pub(super) is_seen: bool,
}

#[derive(Debug)]
pub(super) struct Program {
    pub(super) threads: Vec<Thread>,
    pub(super) live: Vec<Block>,
    clock: u64,
    sections: Vec<(u64, Vec<Vec<Event>>)>,
    /// Whether the address of a freed block is handed out again.
    reuses: bool,
    empty: Vec<u64>,
    addresses: u64,
    names: usize,
    /// Touched bytes by the name of the block, where that was measured.
    pub(super) touched: BTreeMap<usize, u64>,
    /// Most live bytes when the clock moved on.
    pub(super) most: u64,
    /// The largest block that was being resized when the clock moved on. It counts as freed, and is still in its slot.
    pub(super) in_transit: u64,
}

const STACK: StackId = StackId(3);
/// A recording with more threads than this would only be slower.
const THREADS: usize = 8;

impl Program {
    pub(super) fn new(reuses: bool) -> Self {
        Self {
            threads: vec![Thread { handle: 1, ..Thread::default() }],
            live: Vec::new(),
            clock: 1,
            sections: Vec::new(),
            reuses,
            empty: Vec::new(),
            addresses: 0,
            names: 0,
            touched: BTreeMap::new(),
            most: 0,
            in_transit: 0,
        }
    }

    pub(super) fn run(mut self, steps: &[Step]) -> Self {
        steps.iter().for_each(|step| self.step(*step));
        self
    }

    /// A thread that still runs.
    fn running(&self, which: usize) -> usize {
        let running: Vec<usize> = (0..self.threads.len()).filter(|&t| !self.threads[t].is_gone).collect();
        running[which % running.len()]
    }

    fn write(&mut self, thread: usize, event: Event) {
        let thread = &mut self.threads[thread];
        thread.is_seen = true;
        if thread.epoch != self.clock {
            thread.epoch = self.clock;
            thread.ring.push(Event::Epoch(Epoch(self.clock)));
        }
        thread.ring.push(event);
    }

    /// A new block. With addresses that come again, a size belongs to its address, since of two blocks at one address that
    /// two threads have in one epoch the order is not always known.
    fn put(&mut self, size: u64) -> Block {
        let again = self.empty.pop().filter(|_| self.reuses);
        let address = again.unwrap_or_else(|| {
            self.addresses += 1;
            self.addresses * 16
        });
        let size = if self.reuses { address % 1000 } else { size };
        self.names += 1;
        let block = Block { name: self.names, address, size };
        self.live.push(block);
        block
    }

    fn take(&mut self, which: usize) -> Option<Block> {
        let at = which.checked_rem(self.live.len())?;
        let block = self.live.swap_remove(at);
        self.empty.push(block.address);
        Some(block)
    }

    fn live_bytes(&self) -> u64 {
        self.live.iter().map(|block| block.size).sum()
    }

    fn tick(&mut self) {
        self.most = self.most.max(self.live_bytes());
        self.clock += 1;
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Alloc { who, size } => {
                let thread = self.running(who);
                let Block { name: block, address, size } = self.put(size);
                let (address, function) = (BlockAddress(address), AllocFunction::Malloc);
                self.write(
                    thread,
                    Event::Alloc {
                        address,
                        size,
                        align_log2: 0,
                        allocator: AllocatorNumber::BY_NAME,
                        function,
                        stack: STACK,
                    },
                );
                self.threads[thread].calls.push(Call::Alloc { block, size });
            }
            Step::Free { who, which, touched } => {
                let Some(block) = self.take(which) else { return };
                let thread = self.running(who);
                let pages = touched.map(|permille| (block.size * permille / 1000).div_ceil(4096));
                if let Some(pages) = pages {
                    self.touched.insert(block.name, (pages * 4096).min(block.size));
                }
                let touched = pages.map(|pages| pages as u32);
                self.write(thread, Event::Free { address: BlockAddress(block.address), touched });
                self.threads[thread].calls.push(Call::Free { block: block.name });
            }
            Step::Reallocate { who, which, size } => {
                let Some(old) = self.take(which) else { return };
                let thread = self.running(who);
                let new = self.put(size);
                let event = Event::Realloc {
                    old: BlockAddress(old.address),
                    new: BlockAddress(new.address),
                    size: new.size,
                    stack: STACK,
                    touched: None,
                    allocator: AllocatorNumber::BY_NAME,
                };
                self.write(thread, event);
                let call = Call::Reallocate { before: old.name, block: new.name, size: new.size };
                self.threads[thread].calls.push(call);
            }
            Step::TickDuring { who, which, size } => {
                let Some(old) = self.take(which) else { return self.tick() };
                let thread = self.running(who);
                self.in_transit = self.in_transit.max(old.size);
                self.write(thread, Event::ReallocBegin { old: BlockAddress(old.address), touched: None });
                self.tick();
                let new = self.put(size);
                let address = BlockAddress(new.address);
                self.write(
                    thread,
                    Event::ReallocEnd {
                        new: address,
                        size: new.size,
                        stack: STACK,
                        allocator: AllocatorNumber::BY_NAME,
                    },
                );
                let call = Call::Reallocate { before: old.name, block: new.name, size: new.size };
                self.threads[thread].calls.push(call);
            }
            Step::Spawn { who } => {
                if self.threads.len() >= THREADS {
                    return;
                }
                let by = self.running(who);
                let handle = self.handle(by);
                self.write(by, Event::ThreadCreate { handle });
                let thread = self.threads.len();
                self.threads[by].calls.push(Call::Spawn { thread });
                self.threads.push(Thread { handle, ..Thread::default() });
            }
            Step::Join { who, which } => {
                let by = self.running(who);
                let thread = which % self.threads.len();
                if thread == by || thread == 0 || self.threads[thread].is_joined {
                    return;
                }
                let handle = self.threads[thread].handle;
                let others = || self.threads.iter().filter(|t| t.handle == handle && t.is_joined);
                let is_clear = self.threads[thread].is_seen && others().all(|t| t.joined_at < self.clock);
                if others().next().is_some() && !is_clear {
                    // Of two joins of a handle within an epoch it is unknown which is that of which thread, and a thread
                    // that did nothing has no other place in the order.
                    self.tick();
                }
                self.threads[thread].joined_at = self.clock;
                (self.threads[thread].is_gone, self.threads[thread].is_joined) = (true, true);
                self.threads[thread].joined_by = Some(by);
                self.write(by, Event::ThreadJoin { handle: self.threads[thread].handle });
                self.threads[by].calls.push(Call::Join { thread });
            }
            Step::Leave { which } => {
                let thread = which % self.threads.len();
                if thread != 0 && !self.threads[thread].is_gone {
                    self.threads[thread].is_gone = true;
                    self.tick();
                    self.threads[thread].noticed = Some(self.clock);
                }
            }
            Step::Tick => self.tick(),
            Step::Drain => self.drain(),
        }
    }

    /// The `pthread_t` of a new thread: that of one that was joined, as glibc does it, or a new one.
    fn handle(&mut self, by: usize) -> u64 {
        let is_free = |handle: u64| {
            let mut with = self.threads.iter().filter(|t| t.handle == handle);
            with.all(|t| t.is_joined)
        };
        let again = self.threads.iter().map(|t| t.handle).find(|&handle| is_free(handle));
        let with = |handle| self.threads.iter().filter(move |t| t.handle == handle);
        let is_clear = |handle| with(handle).all(|t| t.is_seen && t.joined_by == Some(by));
        if again.is_some_and(|handle| !is_clear(handle)) {
            // Within an epoch it cannot be known which of two creations made the thread that did something, or whether the
            // one was joined before the other was created.
            self.tick();
        }
        again.unwrap_or(self.threads.len() as u64 + 1)
    }

    fn drain(&mut self) {
        self.tick();
        let rings = self.threads.iter_mut().map(|thread| std::mem::take(&mut thread.ring)).collect();
        self.sections.push((self.clock, rings));
    }

    /// Its recording. Threads that never did anything are not in it.
    pub(super) fn recording(&mut self) -> Vec<u8> {
        self.drain();
        self.drain();
        let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
        let process = ProcessIndex(0);
        writer.process(&ProcessInfo { index: process, pid: 5, ..ProcessInfo::default() }).expect("memory");
        let seen = |(i, thread): (usize, &Thread)| (ThreadIndex(i as u32), thread.handle);
        for (index, handle) in self.threads.iter().enumerate().filter(|(_, t)| t.is_seen).map(seen) {
            let info = ThreadInfo { index, process, handle, ..ThreadInfo::default() };
            writer.thread(&info).expect("memory");
        }
        let mut encoder = EventsEncoder::default();
        let mut epochs = vec![Epoch(0); self.threads.len()];
        for (watermark, rings) in &self.sections {
            for (i, events) in rings.iter().enumerate().filter(|(_, events)| !events.is_empty()) {
                let encoded = events.iter().map(|&event| words::encode(event));
                let words: Vec<u64> = encoded.flat_map(|w| w.words[..w.len].to_vec()).collect();
                epochs[i] = encoder.add_block(ThreadIndex(i as u32), epochs[i], &words).0;
            }
            writer.events(&encoder.finish(Epoch(*watermark))).expect("memory");
            writer.clock(&ClockReadings(vec![(Epoch(*watermark), watermark * 1000)])).expect("memory");
        }
        for (i, thread) in self.threads.iter().enumerate().filter(|(_, t)| t.is_seen) {
            let Some(noticed) = thread.noticed else { continue };
            let index = ThreadIndex(i as u32);
            let end = ThreadEnd { index, epoch: Epoch(noticed), ..ThreadEnd::default() };
            writer.thread_end(&end).expect("memory");
        }
        let epoch = Epoch(self.clock);
        writer.process_end(&ProcessEnd { index: process, epoch, ..ProcessEnd::default() }).expect("memory");
        // More than any of its blocks: without it those that were not measured would be left untouched.
        let end = RunEnd { peak_rss_bytes: 1 << 50, ..RunEnd::default() };
        writer.run_end(&end).expect("memory");
        writer.into_inner()
    }
}
