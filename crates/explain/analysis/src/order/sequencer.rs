//! Goes through the sections and hands every event to the ledger in its turn.

use super::decoder::Decoder;
use super::patience::Patience;
use super::stream::{LeftOver, Stream, ahead_of_each};
use crate::clock::Clock;
use crate::heap::{BEFORE, Ledger};
use crate::observer::{Moment, Observer};
use crate::residency::{HeapSnapshot, Residency};
use crate::units::Nanos;
use heapwise_trace::event::{Epoch, Event};
use heapwise_trace::file::columns::EventsSection;
use heapwise_trace::file::pages::Snapshot;
use heapwise_trace::file::records::ThreadIndex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// How many events one thread may have before the next one's turn within an epoch. Small, so that what one thread
/// allocates while another frees it does not pile up into a peak that never was.
const TURN: usize = 32;

/// Creations of threads that were not seen yet and are remembered: far more than there can be threads.
const MOST_CREATED: usize = 1 << 20;

/// What is known of a thread.
#[derive(Clone, Copy, Debug)]
struct Known {
    process: u32,
    handle: u64,
    /// Whether its first event may come: it was created, or something of it was seen.
    born: bool,
    /// Whether it was born without its creation, which is recorded when the creating call is over and may come later.
    is_early: bool,
}

/// The state between sections.
#[derive(Debug, Default)]
pub(crate) struct Sequencer<O = ()> {
    pub(crate) observer: O,
    pub(crate) ledger: Ledger,
    pub(crate) clock: Clock,
    left: FxHashMap<u32, LeftOver>,
    /// No event that is left is of an earlier epoch.
    left_from: u64,
    known: Vec<Known>,
    created: FxHashSet<(u32, u64)>,
    /// The thread that began last with a handle and was not joined.
    joinable: FxHashMap<(u32, u64), u32>,
    watermark: u64,
    now: Moment,
    /// Processes by the epoch of their end.
    ends: BTreeMap<u64, Vec<u32>>,
    /// Snapshots of the pages of processes, by the epoch that they begin.
    snapshots: BTreeMap<u64, Vec<(u32, Snapshot)>>,
    pub(crate) residency: Residency,
    /// Events in all sections so far.
    pub(crate) n_events: u64,
    patience: Patience,
    /// The streams at hand by process and handle of their thread, made when first needed.
    by_handle: FxHashMap<(u32, u64), Vec<usize>>,
    /// Live bytes and blocks after each epoch, for tests.
    #[cfg(test)]
    pub(crate) after_epochs: BTreeMap<u64, (u64, u64)>,
}

impl<O: Observer> Sequencer<O> {
    /// A thread of a process of the ledger.
    pub(crate) fn add_thread(&mut self, process: u32, handle: u64) -> u32 {
        let thread = self.ledger.add_thread(process);
        self.known.push(Known { process, handle, born: false, is_early: false });
        self.observer.thread(thread as usize, process as usize, handle);
        thread
    }

    /// The process had ended when the clock said `epoch`. Reported before the first section behind its last events.
    pub(crate) fn end_process(&mut self, process: u32, epoch: u64) {
        self.ends.entry(epoch).or_default().push(process);
    }

    /// The pages of a process were measured. Reported before the first section behind the snapshot's epoch.
    pub(crate) fn look_at(&mut self, process: u32, snapshot: Snapshot) {
        self.snapshots.entry(snapshot.epoch.0).or_default().push((process, snapshot));
    }

    /// Orders what can be ordered now. Returns threads whose events are damaged.
    pub(crate) fn section(&mut self, section: &EventsSection, slot: impl Fn(ThreadIndex) -> u32) -> Vec<u32> {
        std::thread::scope(|scope| self.with(Decoder::new(scope, section), section, slot))
    }

    fn with<'a>(
        &mut self,
        mut decoder: Decoder<'a>,
        section: &'a EventsSection,
        slot: impl Fn(ThreadIndex) -> u32,
    ) -> Vec<u32> {
        let watermark = section.watermark.0;
        let (mut streams, ahead) = (Vec::new(), ahead_of_each(section.n_blocks() + self.left.len()));
        for block in section.blocks() {
            self.n_events += block.n_events();
            let thread = slot(block.thread());
            let left = self.left.remove(&thread).unwrap_or_default();
            left.release(&self.ledger.budget);
            streams.push(Stream::new(thread, left, Some(block), Some(&mut decoder), ahead));
        }
        // Others go on waiting: nothing of them is possible yet.
        if self.left_from < watermark {
            for (thread, left) in self.left.extract_if(|_, left| left.epoch < watermark) {
                left.release(&self.ledger.budget);
                streams.push(Stream::new(thread, left, None, None, ahead));
            }
            self.left_from = self.left.values().map(|left| left.epoch).min().unwrap_or(u64::MAX);
        }
        // The order of a hash map must not decide the order of events: the same file gives the same report.
        streams.sort_by_key(|s| s.thread);
        self.merge(streams, watermark)
    }

    /// Orders what has waited: nothing that could come before it is still to come.
    pub(crate) fn flush(&mut self) {
        let left = std::mem::take(&mut self.left);
        let ahead = ahead_of_each(left.len());
        let mut streams: Vec<_> =
            left.into_iter().map(|(t, left)| Stream::new(t, left, None, None, ahead)).collect();
        streams.sort_by_key(|s| s.thread);
        self.merge(streams, u64::MAX);
    }

    /// Orders what has waited, at the end of the recording, and ends the processes whose end is known.
    pub(crate) fn settle(&mut self) {
        self.flush();
        self.come_to(u64::MAX);
    }

    /// Orders what has waited, and ends all processes.
    pub(crate) fn finish(&mut self) {
        self.settle();
        let end = self.clock.last_ns();
        self.ledger.timeline.advance(end, self.ledger.overall.bytes);
        for process in 0..self.ledger.processes.len() {
            self.ledger.end_process(process as u32);
        }
        self.ledger.share_gauges();
    }

    /// What happened besides the events, before those of an epoch.
    fn come_to(&mut self, epoch: u64) {
        while let Some(entry) = self.snapshots.first_entry()
            && *entry.key() <= epoch
        {
            let (epoch, snapshots) = entry.remove_entry();
            self.end_processes(epoch);
            self.ledger.close_epoch();
            for (slot, snapshot) in snapshots {
                self.take_snapshot(slot, snapshot);
            }
        }
        self.end_processes(epoch);
    }

    fn take_snapshot(&mut self, slot: u32, snapshot: Snapshot) {
        let Some(process) = self.ledger.processes.get(slot as usize) else { return };
        self.observer.snapshot(slot as usize, &snapshot);
        // A single process has no separate gauge.
        let many = self.ledger.processes.len() > 1;
        let live_bytes = if many { process.live.bytes } else { self.ledger.overall.bytes };
        let line = self.ledger.line_of(slot);
        let before = self.residency.before(&line, &snapshot);
        let work = process.blocks.len() as u64 + Residency::pages_of(&snapshot);
        if self.residency.wants(slot, &snapshot, live_bytes) && self.ledger.budget.work(work) {
            let live = process.blocks.copy(self.residency.make_room(slot, &snapshot, live_bytes));
            let heap_snapshot = HeapSnapshot { slot, snapshot, live, live_bytes, before };
            let touched_pages: Vec<_> =
                line.into_iter().map(|at| &self.ledger.processes[at].touched_pages).collect();
            self.residency.take(heap_snapshot, &touched_pages, &self.ledger.site_allocators);
        }
    }

    fn end_processes(&mut self, before: u64) {
        while let Some(entry) = self.ends.first_entry()
            && *entry.key() < before
        {
            let (epoch, processes) = entry.remove_entry();
            let now = self.clock.time_ns(epoch);
            self.ledger.open_epoch(epoch, now, false, false);
            processes.into_iter().for_each(|p| self.ledger.end_process(p));
        }
    }

    fn merge(&mut self, mut streams: Vec<Stream<'_>>, watermark: u64) -> Vec<u32> {
        let before = self.watermark;
        self.watermark = self.watermark.max(watermark);
        self.by_handle.clear();
        // By the epoch of their next event. Streams are many in some recordings and epochs in others, and there may be both.
        let fronts = streams.iter().enumerate().filter(|(_, s)| s.front().is_some());
        let mut waiting: BinaryHeap<Reverse<(u64, usize)>> =
            fronts.map(|(i, s)| Reverse((s.epoch, i))).collect();
        let (mut active, mut again): (Vec<usize>, Vec<usize>) = Default::default();
        while let Some(&Reverse((epoch, _))) = waiting.peek().filter(|next| next.0.0 < watermark) {
            self.come_to(epoch);
            active.clear();
            while let Some(&Reverse((_, i))) = waiting.peek().filter(|next| next.0.0 == epoch) {
                active.push(i);
                waiting.pop();
            }
            again.clone_from(&active);
            let now = self.clock.time_ns(epoch);
            self.now = Moment { epoch: Epoch(epoch), time: Nanos(now) };
            let shared = active.len() > 1;
            self.ledger.open_epoch(epoch, now, epoch < before, shared);
            if shared {
                self.together(&mut streams, &mut active, epoch);
            } else {
                self.alone(&mut streams[active[0]], epoch);
            }
            waiting.extend(
                again
                    .iter()
                    .filter(|&&i| streams[i].front().is_some())
                    .map(|&i| Reverse((streams[i].epoch, i))),
            );
            #[cfg(test)]
            {
                self.ledger.close_epoch();
                self.after_epochs.insert(epoch, (self.ledger.overall.bytes, self.ledger.overall.blocks));
            }
        }
        self.ledger.close_epoch();
        let mut damaged = Vec::new();
        for stream in streams {
            let thread = stream.thread;
            let (left, broken) = stream.into_left_over(&self.ledger.budget);
            if broken {
                damaged.push(thread);
            }
            if !left.events.is_empty() {
                self.left_from = self.left_from.min(left.epoch);
                self.left.insert(thread, left);
            }
        }
        damaged
    }

    /// One thread has events in this epoch: they happened in their order.
    #[inline(never)]
    fn alone(&mut self, stream: &mut Stream<'_>, epoch: u64) {
        let thread = stream.thread;
        let known = self.known[thread as usize];
        if !known.born {
            let was_created = self.created.remove(&(known.process, known.handle));
            self.bear(thread, !was_created);
        }
        while stream.epoch == epoch {
            self.run(stream, usize::MAX);
            let Some(event) = stream.front().filter(|_| stream.epoch == epoch) else { return };
            if matches!(event, Event::ThreadCreate { .. } | Event::ThreadJoin { .. }) {
                self.note_thread(thread, event);
            } else if !self.ledger.apply(thread, event) {
                self.ledger.force(thread, event);
            }
            self.observer.events(self.now, thread as usize, std::slice::from_ref(event));
            stream.advance();
        }
    }

    /// Does at most about so many events of a thread as long as they are plain, and says how many it did.
    #[inline(always)]
    fn run(&mut self, stream: &mut Stream<'_>, most: usize) -> usize {
        let mut looked_at = stream.looked_at();
        let plain = self.ledger.run(stream.thread, stream.ahead(), most, &mut looked_at);
        stream.note_looked_at(looked_at);
        if plain > 0 {
            self.observer.events(self.now, stream.thread as usize, &stream.ahead()[..plain]);
            stream.advance_by(plain);
        }
        plain
    }

    /// Several threads have events in this epoch: whatever is possible next is taken, in turns.
    fn together(&mut self, streams: &mut [Stream<'_>], active: &mut Vec<usize>, epoch: u64) {
        self.patience.earn(self.n_events);
        while !active.is_empty() {
            if !self.patience.spend(active.len()) {
                // Threads of an epoch that wait for each other like this cannot have run.
                active.drain(..).for_each(|i| self.alone(&mut streams[i], epoch));
                return;
            }
            let mut progress = false;
            active.retain(|&i| {
                let stream = &streams[i];
                if stream.front().is_none() || stream.epoch != epoch {
                    // It ended with its last turn, or with an event that was forced; another thread may have waited for that.
                    progress = true;
                    return false;
                }
                if self.must_wait(stream.thread, stream.front(), streams, epoch) {
                    return true;
                }
                let stream = &mut streams[i];
                let (took, more) = self.turn(stream, epoch);
                progress |= took;
                more
            });
            if !progress {
                self.unblock(streams, active, epoch);
            }
        }
    }

    /// Whether other threads come first: the one that creates this thread, or the one whose end it waited for.
    fn must_wait(&mut self, thread: u32, front: Option<&Event>, streams: &[Stream<'_>], epoch: u64) -> bool {
        let known = self.known[thread as usize];
        if !known.born {
            // Handles are used again: the creation is used up by the first thread with its handle.
            if !self.created.remove(&(known.process, known.handle)) {
                return true;
            }
            self.bear(thread, false);
        }
        let Some(Event::ThreadJoin { handle }) = front else { return false };
        let process = known.process;
        let is_here = |s: &Stream<'_>| s.front().is_some() && s.epoch == epoch;
        if let Some(&joined) = self.joinable.get(&(process, *handle)) {
            // Others with its handle have not begun, and are created when this one is over.
            let at = streams.binary_search_by_key(&joined, |s| s.thread);
            return joined != thread && at.is_ok_and(|at| is_here(&streams[at]));
        }
        if self.by_handle.is_empty() {
            for (i, stream) in streams.iter().enumerate() {
                let known = self.known[stream.thread as usize];
                self.by_handle.entry((known.process, known.handle)).or_default().push(i);
            }
        }
        let others = self.by_handle.get(&(process, *handle)).map_or(&[][..], Vec::as_slice);
        self.patience.spend(others.len());
        others.iter().any(|&i| streams[i].thread != thread && is_here(&streams[i]))
    }

    /// Takes a few events of a thread. Says whether there was any, and whether more of this epoch are left.
    #[inline]
    fn turn(&mut self, stream: &mut Stream<'_>, epoch: u64) -> (bool, bool) {
        let thread = stream.thread;
        let mut n = 0;
        while stream.epoch == epoch {
            n += self.run(stream, TURN - n);
            let event = match stream.front() {
                Some(event) if stream.epoch == epoch => event,
                _ => break,
            };
            if n >= TURN {
                return (true, true);
            }
            if let Some(later) = stream.ahead().get(BEFORE) {
                self.ledger.expect(thread, later);
            }
            match event {
                Event::ThreadJoin { .. } if n > 0 => return (true, true),
                Event::ThreadCreate { .. } | Event::ThreadJoin { .. } => {
                    self.note_thread(thread, event);
                }
                event => {
                    if !self.ledger.apply(thread, event) {
                        return (n > 0, true);
                    }
                }
            }
            self.observer.events(self.now, thread as usize, std::slice::from_ref(event));
            stream.advance();
            n += 1;
        }
        (true, false)
    }

    /// Nothing is possible: threads whose creation was not seen begin; if there is none, one event is forced.
    fn unblock(&mut self, streams: &mut [Stream<'_>], active: &[usize], epoch: u64) {
        debug_assert!(active.iter().all(|&i| streams[i].front().is_some() && streams[i].epoch == epoch));
        let unborn = |i: &&usize| !self.known[streams[**i].thread as usize].born;
        if active.iter().any(|i| unborn(&i)) {
            self.patience.spend(active.len() * TURN);
            // Not those whose creation is still to come, unless there is no other: the first thread of a process was
            // not created by a thread, and would let them all begin before their time.
            let mut to_come: FxHashSet<(u32, u64)> = FxHashSet::default();
            for stream in active.iter().map(|&i| &streams[i]) {
                let process = self.known[stream.thread as usize].process;
                to_come.extend(stream.ahead().iter().filter_map(|event| match event {
                    Event::ThreadCreate { handle } => Some((process, *handle)),
                    _ => None,
                }));
            }
            let is_to_come = |known: Known| to_come.contains(&(known.process, known.handle));
            let of = |i: &usize| streams[*i].thread as usize;
            let all: Vec<usize> = active.iter().filter(unborn).map(of).collect();
            let some: Vec<usize> = all.iter().copied().filter(|&t| !is_to_come(self.known[t])).collect();
            for thread in if some.is_empty() { all } else { some } {
                self.bear(thread as u32, true);
            }
            return;
        }
        // A free first: blocks from before the recording are freed more often than events are lost.
        let is_free = |&&i: &&usize| {
            matches!(streams[i].front(), Some(Event::Free { .. } | Event::ReallocBegin { .. }))
        };
        // A join last: it would leave the thread that is joined with a life after its end.
        let is_join = |&&i: &&usize| matches!(streams[i].front(), Some(Event::ThreadJoin { .. }));
        let other = || active.iter().find(|i| !is_join(i)).or(active.first());
        let Some(&i) = active.iter().find(is_free).or_else(other) else { return };
        if let Some(event) = streams[i].front() {
            let thread = streams[i].thread;
            self.ledger.force(thread, event);
            self.observer.events(self.now, thread as usize, std::slice::from_ref(event));
            streams[i].advance();
        }
    }

    /// A thread that had begun before the recording.
    pub(crate) fn goes_on(&mut self, thread: u32) {
        self.bear(thread, false);
    }

    /// From now on events of a thread may come.
    fn bear(&mut self, thread: u32, is_early: bool) {
        let known = &mut self.known[thread as usize];
        if !known.born {
            (known.born, known.is_early) = (true, is_early);
            self.joinable.insert((known.process, known.handle), thread);
        }
    }

    /// A thread creates another one, or has waited for its end: then its handle is free for another one.
    fn note_thread(&mut self, thread: u32, event: &Event) {
        let process = self.known[thread as usize].process;
        match event {
            Event::ThreadCreate { handle } => {
                let running = self.joinable.get(&(process, *handle)).copied();
                let running = running.filter(|&t| t != thread).map(|t| &mut self.known[t as usize]);
                match running.filter(|known| known.is_early) {
                    Some(known) => known.is_early = false,
                    None if self.created.len() >= MOST_CREATED => {}
                    None => {
                        self.created.insert((process, *handle));
                    }
                }
            }
            Event::ThreadJoin { handle } => {
                // A thread that never did anything has not used its creation up.
                let has_begun = self.joinable.remove(&(process, *handle)).is_some();
                if !has_begun {
                    self.created.remove(&(process, *handle));
                }
            }
            _ => {}
        }
    }
}
