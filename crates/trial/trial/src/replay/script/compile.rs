//! Writes the script of a process while the events of its recording pass.

mod peak;
mod touched;

use super::block::Block;
use super::contents::{Counts, Script, ThreadScript};
use super::epochs::{Epochs, Number};
use super::overlap::Shares;
use super::record::{Operation, Record};
use super::slots::Slots;
use super::streams::{Position, Stream, Streams};
use super::threads::Threads;
use heapwise_analysis::reconcile::{Place, Reconciler};
use heapwise_analysis::{Bytes, Moment, Nanos, Observer};
use heapwise_trace::event::{AllocFunction, BlockAddress, Epoch, Event, StackId, TouchedPages};
use heapwise_trace::file::pages::Snapshot;
use peak::Peak;
use rustc_hash::FxHashMap;
use std::io;
use touched::PAGE_BYTES;

/// Blocks of which the recorder measures what was touched.
pub(super) const LARGE: u64 = 128 << 10;

/// Why a script could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write the script of the replay to a temporary file in {folder}: {source}; make room there, or name another folder in TMPDIR"
)]
pub struct CompileError {
    folder: String,
    source: io::Error,
}

/// A block on its way to another place, if it is known.
#[derive(Clone, Copy, Debug)]
struct Transit {
    from: BlockAddress,
    block: Option<Block>,
}

/// The script that is being written.
#[derive(Debug)]
pub(crate) struct Compiler {
    process: usize,
    /// By thread of the recording.
    threads_of: FxHashMap<usize, usize>,
    threads: Threads,
    streams: Streams,
    stream: Vec<Stream>,
    /// The epoch that each stream is in.
    entered: Vec<Number>,
    slots: Slots,
    epochs: Epochs,
    shares: Shares,
    live: FxHashMap<u64, Block>,
    live_bytes: u64,
    /// Live bytes of blocks that are always touched as a whole, now and at most.
    small_bytes: u64,
    most_small_bytes: u64,
    peak: Peak,
    /// Blocks that are on their way to another place, by thread.
    in_transit: FxHashMap<usize, Transit>,
    reconciler: Reconciler<Block>,
    /// The thread of the last event.
    recent: Option<usize>,
    /// The epoch of the session that the events at hand are of, and whether others of later ones came before.
    now: (Epoch, bool),
    last_snapshot: Option<Snapshot>,
    process_end: Option<Epoch>,
    /// What the program had resident at most, in bytes; 0 if that is not known.
    most_resident: u64,
    counts: Counts,
    error: Option<io::Error>,
}

impl Compiler {
    /// `peak_rss` is what the whole program had resident at most; 0 if it is not known.
    pub(crate) fn new(process: usize, peak_rss: Bytes) -> Result<Self, CompileError> {
        Ok(Self {
            process,
            threads_of: FxHashMap::default(),
            threads: Threads::default(),
            streams: Streams::new().map_err(failed)?,
            stream: Vec::new(),
            entered: Vec::new(),
            slots: Slots::default(),
            epochs: Epochs::default(),
            shares: Shares::default(),
            live: FxHashMap::default(),
            live_bytes: 0,
            small_bytes: 0,
            most_small_bytes: 0,
            peak: Peak::default(),
            in_transit: FxHashMap::default(),
            reconciler: Reconciler::default(),
            recent: None,
            now: (Epoch(0), false),
            last_snapshot: None,
            process_end: None,
            most_resident: peak_rss.0,
            counts: Counts::default(),
            error: None,
        })
    }

    /// Ends all streams. `end` is when the process ended, since the command began.
    pub(crate) fn finish(mut self, end: Option<Nanos>) -> Result<Script, CompileError> {
        self.close_epoch();
        self.tell_touched_at_the_end();
        let last = self.epochs.last();
        // Before the ends of the streams, since others may wait for those.
        let stops: Vec<_> = (0..self.stream.len()).map(|thread| self.peak.stop(thread)).collect();
        let ends: Vec<Number> = (0..self.stream.len()).map(|thread| self.end_thread(thread, last)).collect();
        let time = |number| self.epochs.time_ns(number);
        self.counts.overlap = self.shares.overlap(&ends, time, self.counts.peak_live_bytes);
        if let Some(error) = self.error {
            return Err(failed(error));
        }
        // The end is looked at in any case.
        let is_at_the_end = self.live_bytes >= self.counts.peak_live_bytes.0;
        let peak = if is_at_the_end { 0 } else { self.peak.epoch.0.saturating_add(1) };
        self.counts.live_blocks = self.live.len() as u64;
        self.counts.live_bytes = Bytes(self.live_bytes);
        let threads: Vec<ThreadScript> = (self.stream.iter().zip(&self.threads.lives).zip(stops))
            .map(|((stream, life), stop)| ThreadScript {
                first: stream.first,
                stop,
                is_spawned: life.is_spawned,
                is_joined: life.joined.is_some(),
            })
            .collect();
        self.counts.threads = threads.len() as u64;
        let events_end = self.epochs.time_ns(last);
        let end = end.map_or(0, |end| end.0.saturating_sub(self.epochs.start_ns()));
        Ok(Script {
            records: self.streams.records,
            stacks: self.streams.stacks,
            threads,
            created: self.threads.created,
            slots: self.slots.count,
            peak,
            duration: Nanos(end.max(events_end)),
            touched: self.most_small_bytes.max(self.counts.peak_live_bytes.0.min(self.most_resident)),
            counts: self.counts,
        })
    }

    /// Ends the stream of a thread. Returns when that is.
    fn end_thread(&mut self, thread: usize, last: Number) -> Number {
        let life = self.threads.lives[thread];
        let noticed = life.ended.filter(|&epoch| self.process_end.is_none_or(|end| epoch < end));
        let noticed = noticed.map(|epoch| self.epochs.at(epoch));
        // The first thread is the process's own and ends with it.
        let end = match (life.joined, noticed) {
            _ if thread == 0 => None,
            (Some(joined), Some(noticed)) => Some(joined.min(noticed)),
            (joined, noticed) => joined.or(noticed),
        };
        let end = end.map(|end| end.max(self.entered[thread]).min(last));
        match end {
            Some(end) => {
                self.enter(thread, end);
                self.push(thread, Record::plain(Operation::End, 0, 0), 0);
            }
            None => {
                self.push(thread, Record::plain(Operation::Stay, 0, 0), 0);
            }
        }
        if let Err(error) = self.streams.flush(&self.stream[thread]) {
            self.error.get_or_insert(error);
        }
        end.unwrap_or(last)
    }

    /// A thread whose creation was not recorded is started by the thread that was active last: if all of those began with the
    /// process, there would be as many threads at a time as there ever were.
    fn start_without_creation(&mut self, thread: usize) {
        let Some(by) = self.recent.filter(|&by| by != thread) else { return };
        if thread == 0 || self.threads.lives[thread].is_spawned || self.threads.lives[by].joined.is_some() {
            return;
        }
        let creation = self.threads.create_now(thread);
        self.push(by, Record::plain(Operation::Spawn, creation, 0), 0);
    }

    fn enter(&mut self, thread: usize, epoch: Number) {
        if self.entered[thread] < epoch {
            self.entered[thread] = epoch;
            let time = self.epochs.time_ns(epoch);
            self.push(thread, Record::plain(Operation::Epoch, epoch.0, time), 0);
        }
    }

    fn push(&mut self, thread: usize, record: Record, stack: u32) -> Option<Position> {
        match self.streams.push(&mut self.stream[thread], record, stack) {
            Ok(at) => {
                // One that stands in an earlier epoch would keep others from theirs.
                if record.operation() != Operation::Epoch && self.entered[thread] == self.epochs.last() {
                    self.peak.go_on(thread, at);
                }
                Some(at)
            }
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    fn event(&mut self, thread: usize, event: &Event) {
        match *event {
            Event::Alloc { address, size, align_log2, function, stack, .. } => {
                self.alloc(thread, address, (size, align_log2), function, stack);
            }
            Event::Free { address, touched } => self.free(thread, address, touched),
            Event::Realloc { old, new, size, stack, touched, .. } => {
                let block = self.take(thread, old, touched, true);
                self.resize(thread, block, new, size, stack);
            }
            Event::ReallocBegin { old, touched } => {
                let block = self.take(thread, old, touched, true);
                self.in_transit.insert(thread, Transit { from: old, block });
            }
            Event::ReallocEnd { new, size, stack, .. } => {
                let block = self.in_transit.remove(&thread).and_then(|transit| transit.block);
                self.resize(thread, block, new, size, stack);
            }
            Event::Failed { .. } => self.counts.refused += 1,
            Event::ThreadCreate { handle } => {
                let creation = self.threads.create(handle);
                self.push(thread, Record::plain(Operation::Spawn, creation, 0), 0);
            }
            Event::ThreadJoin { handle } => {
                if let Some(ended) = self.threads.join(handle, self.epochs.last()) {
                    self.push(thread, Record::plain(Operation::Join, ended as u32, 0), 0);
                }
            }
            // Nothing that a replay does again.
            _ => {}
        }
    }

    fn alloc(
        &mut self,
        thread: usize,
        address: BlockAddress,
        (size, align_log2): (u64, u8),
        function: AllocFunction,
        stack: StackId,
    ) {
        let place = self.slots.take(thread);
        let operation = Operation::of(function);
        let record = Record::block(operation, place.slot, place.generation, place.waits, size);
        let at = self.push(thread, record.aligned(align_log2), stack.0);
        self.counts.allocations += 1;
        self.put(thread, address, place.slot, place.generation, size, at);
    }

    fn put(
        &mut self,
        thread: usize,
        address: BlockAddress,
        slot: u32,
        generation: u16,
        size: u64,
        at: Option<Position>,
    ) {
        let asked = at.filter(|_| size >= LARGE);
        let block = Block { slot, generation, thread: thread as u32, size, asked };
        if let Some(displaced) = self.live.insert(address.0, block)
            && !self.reconciler.displace(place(address), displaced)
        {
            self.lose(&displaced);
            self.push_free(displaced.thread as usize, &displaced);
        }
        self.gain(thread, size);
        self.cancel(thread, address);
    }

    /// Frees a new block again at once if its free came before it.
    #[inline(always)]
    fn cancel(&mut self, thread: usize, address: BlockAddress) {
        if !self.reconciler.open {
            return;
        }
        let Some(advance) = self.reconciler.cancel(place(address), thread as u32) else { return };
        let by = advance.thread as usize;
        let Some(block) = self.live.remove(&address.0) else { return };
        if let Some(displaced) = self.reconciler.take_displaced(place(address)) {
            self.live.insert(address.0, displaced);
        }
        self.counts.skipped = self.counts.skipped.saturating_sub(1);
        self.lose(&block);
        match self.in_transit.get_mut(&by) {
            // The resize is still going on: this is the block that it is moving.
            Some(transit) if advance.resize && transit.from == address && transit.block.is_none() => {
                transit.block = Some(block);
            }
            // A thread that has waited for the end of `by` would wait for this as well, and perhaps for itself.
            _ if self.threads.lives[by].joined.is_some() => self.push_free(thread, &block),
            _ => {
                // It may wait for one that stands at the peak, and then has to stand, too.
                self.enter(by, self.epochs.last());
                self.push_free(by, &block);
            }
        }
    }

    /// The block at an address, which a thread frees or resizes.
    fn take(
        &mut self,
        thread: usize,
        address: BlockAddress,
        touched: TouchedPages,
        is_resize: bool,
    ) -> Option<Block> {
        let is_open = self.reconciler.open;
        let displaced = is_open.then(|| self.reconciler.take_displaced(place(address))).flatten();
        let is_late = displaced.is_none() && self.now.1;
        if is_late && self.reconciler.settle(place(address), self.now.0.0).is_some() {
            return None;
        }
        let Some(block) = displaced.or_else(|| self.live.remove(&address.0)) else {
            self.counts.skipped += 1;
            self.reconciler.free_in_advance(place(address), thread as u32, is_resize);
            return None;
        };
        self.reconciler.log_free(place(address), thread as u32);
        self.lose(&block);
        self.tell_touched(&block, touched.map(|pages| u64::from(pages) * PAGE_BYTES));
        Some(block)
    }

    /// Blocks of which no free was seen, although their addresses were handed out again, are freed by their threads.
    fn close_epoch(&mut self) {
        if !self.reconciler.open {
            return self.reconciler.forget_log();
        }
        let mut left = self.reconciler.close(self.now.0.0).displaced;
        // The order of a hash map must not decide the order of a script.
        left.sort_by_key(|((_, address), block)| (*address, block.slot));
        for (_, block) in left {
            self.lose(&block);
            self.push_free(block.thread as usize, &block);
        }
    }

    fn gain(&mut self, thread: usize, size: u64) {
        self.live_bytes = self.live_bytes.saturating_add(size);
        let is_peak = self.live_bytes > self.counts.peak_live_bytes.0;
        self.shares.gain(thread as u32, size, is_peak);
        if is_peak {
            self.counts.peak_live_bytes = Bytes(self.live_bytes);
            self.peak.rise(self.epochs.last());
        }
        if size < LARGE {
            self.small_bytes = self.small_bytes.saturating_add(size);
            self.most_small_bytes = self.most_small_bytes.max(self.small_bytes);
        }
    }

    fn lose(&mut self, block: &Block) {
        let size = block.size;
        self.shares.lose(block.thread, size);
        self.live_bytes = self.live_bytes.saturating_sub(size);
        if size < LARGE {
            self.small_bytes = self.small_bytes.saturating_sub(size);
        }
    }

    fn free(&mut self, thread: usize, address: BlockAddress, touched: TouchedPages) {
        if let Some(block) = self.take(thread, address, touched, false) {
            self.push_free(thread, &block);
        }
    }

    fn push_free(&mut self, thread: usize, block: &Block) {
        let waits = block.thread as usize != thread;
        self.push(thread, Record::block(Operation::Free, block.slot, block.generation, waits, 0), 0);
        self.counts.deallocations += 1;
        self.slots.recycle(thread, block.slot, block.generation);
    }

    fn resize(&mut self, thread: usize, block: Option<Block>, new: BlockAddress, size: u64, stack: StackId) {
        let Some(block) = block else {
            // A block that the recording does not know begins here.
            return self.alloc(thread, new, (size, 0), AllocFunction::Malloc, stack);
        };
        let waits = block.thread as usize != thread;
        let record = Record::block(Operation::Realloc, block.slot, block.generation, waits, size);
        let at = self.push(thread, record, stack.0);
        self.counts.reallocations += 1;
        self.put(thread, new, block.slot, block.generation.wrapping_add(1), size, at);
    }
}

/// A script is of one process.
fn place(address: BlockAddress) -> Place {
    (0, address.0)
}

fn failed(source: io::Error) -> CompileError {
    CompileError { folder: std::env::temp_dir().display().to_string(), source }
}

impl Observer for Compiler {
    fn thread(&mut self, thread: usize, process: usize, handle: u64) {
        if process == self.process {
            let own = self.threads.add(handle);
            self.threads_of.insert(thread, own);
            self.slots.add_thread();
            self.shares.add_thread();
            self.stream.push(self.streams.begin());
            self.peak.add_stream();
            self.entered.push(Number(0));
        }
    }

    fn events(&mut self, at: Moment, thread: usize, events: &[Event]) {
        let Some(&thread) = self.threads_of.get(&thread) else { return };
        let before = self.epochs.last();
        let now = self.epochs.enter(at);
        if at.epoch != self.now.0 {
            self.close_epoch();
            self.now = (at.epoch, at.epoch < self.now.0 || now == before);
        }
        // A thread with events after its own end was ordered wrongly, and a thread that waits for it might wait for ever.
        self.threads.lives[thread].joined = None;
        if !self.threads.lives[thread].began {
            self.threads.begin(thread);
            self.shares.begin(thread, now);
            self.start_without_creation(thread);
        }
        self.recent = Some(thread);
        self.enter(thread, now);
        for event in events {
            self.event(thread, event);
        }
    }

    fn thread_ended(&mut self, thread: usize, epoch: Epoch) {
        if let Some(&thread) = self.threads_of.get(&thread) {
            self.threads.lives[thread].ended = Some(epoch);
        }
    }

    fn process_ended(&mut self, process: usize, epoch: Epoch) {
        if process == self.process {
            self.process_end = Some(epoch);
        }
    }

    fn snapshot(&mut self, process: usize, snapshot: &Snapshot) {
        if process == self.process {
            self.last_snapshot = Some(snapshot.clone());
        }
    }
}
