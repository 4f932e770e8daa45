//! The events of each thread, with epochs that keep the order of all of them.
//!
//! The queue has one order. A new epoch begins whenever another thread has its turn, and after a while; so within an epoch
//! there are events of one thread only, and a reader has nothing to find out.

use super::PROCESS;
use crate::queue::{Kind, Note};
use heapwise_trace::event::{AllocatorNumber, BlockAddress, Epoch, Event, MarkId, MarkKind, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{ThreadEnd, ThreadIndex, ThreadInfo};
use heapwise_trace::file::tables::ClockReadings;
use heapwise_trace::live::words;
use rustc_hash::FxHashMap;

/// Longest epoch, in nanoseconds: lifetimes of blocks are accurate to this.
const EPOCH_NS: u64 = 100_000;

#[derive(Debug)]
struct Thread {
    info: ThreadInfo,
    /// The last name.
    name: String,
    is_written: bool,
    /// Events of this section.
    words: Vec<u64>,
    first_epoch: u64,
    epoch: u64,
}

#[derive(Debug)]
pub(super) struct Threads {
    is_sample: bool,
    indices: FxHashMap<u32, usize>,
    threads: Vec<Thread>,
    /// Names of threads that have no event yet.
    names: FxHashMap<u32, (u64, String)>,
    epoch: u64,
    epoch_began_ns: u64,
    last: Option<u32>,
    /// The first half of a reallocation, whose second may be next.
    begun: Option<(u32, u64)>,
    readings: Vec<(Epoch, u64)>,
    encoder: EventsEncoder,
}

/// What is to be written.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) threads: Vec<ThreadInfo>,
    pub(super) events: Option<Vec<u8>>,
    pub(super) readings: ClockReadings,
}

impl Threads {
    pub(super) fn new(is_sample: bool) -> Self {
        Self {
            is_sample,
            indices: FxHashMap::default(),
            threads: Vec::new(),
            names: FxHashMap::default(),
            epoch: 1,
            epoch_began_ns: 0,
            last: None,
            begun: None,
            readings: vec![(Epoch(0), 0)],
            encoder: EventsEncoder::default(),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn name(&mut self, thread: u32, id: u64, name: String) {
        // Where a thread's storage is gone before its last events (Windows), these come with a new number. A system's number
        // that another thread of the same name has later makes one of both.
        let is_same = |t: &Thread| t.info.tid == id as u32 && t.name == name;
        if cfg!(windows)
            && !self.indices.contains_key(&thread)
            && let Some(at) = self.threads.iter().rposition(is_same)
        {
            self.indices.insert(thread, at);
        }
        match self.indices.get(&thread) {
            Some(&at) => self.threads[at].name = name,
            None => {
                self.names.insert(thread, (id, name));
            }
        }
    }

    pub(super) fn event(&mut self, thread: u32, time_ns: u64, note: Note, stack: StackId) {
        let address = BlockAddress(note.address);
        let event = match (note.kind, self.begun.take()) {
            // Both halves without anything in between, which nearly all reallocations are: one event.
            (Kind::ReallocEnd | Kind::Stays, Some((by, old))) if by == thread => {
                let old = BlockAddress(old);
                Event::Realloc {
                    old,
                    new: address,
                    size: note.size,
                    stack,
                    touched: None,
                    allocator: AllocatorNumber::BY_NAME,
                }
            }
            (kind, begun) => {
                self.put_begun(begun);
                match kind {
                    Kind::Alloc { function, align_log2 } => {
                        let allocator = AllocatorNumber::BY_NAME;
                        Event::Alloc { address, size: note.size, align_log2, function, allocator, stack }
                    }
                    Kind::Free => Event::Free { address, touched: None },
                    Kind::ReallocBegin if self.is_sample => {
                        Event::ReallocBegin { old: address, touched: None }
                    }
                    Kind::ReallocBegin => {
                        self.turn(thread, time_ns);
                        self.begun = Some((thread, note.address));
                        return;
                    }
                    // Recordings know the refusal from the event that follows.
                    Kind::ReallocEnd | Kind::Stays => Event::ReallocEnd {
                        new: address,
                        size: note.size,
                        stack,
                        allocator: AllocatorNumber::BY_NAME,
                    },
                    Kind::Failed { function } => Event::Failed { size: note.size, function, stack },
                }
            }
        };
        self.turn(thread, time_ns);
        self.put(thread, event);
    }

    /// A thread says what it is doing. The clock of the marks is that of the recording.
    pub(super) fn mark(&mut self, thread: u32, time_ns: u64, kind: MarkKind, name: MarkId) {
        let begun = self.begun.take();
        self.put_begun(begun);
        self.turn(thread, time_ns);
        self.put(thread, Event::Mark { kind, name, ticks: time_ns });
    }

    fn put_begun(&mut self, begun: Option<(u32, u64)>) {
        if let Some((thread, old)) = begun {
            self.put(thread, Event::ReallocBegin { old: BlockAddress(old), touched: None });
        }
    }

    /// It is a thread's turn.
    fn turn(&mut self, thread: u32, time_ns: u64) {
        if self.last != Some(thread) || time_ns.saturating_sub(self.epoch_began_ns) >= EPOCH_NS {
            self.next_epoch(time_ns);
            self.last = Some(thread);
        }
    }

    fn next_epoch(&mut self, time_ns: u64) {
        self.epoch += 1;
        self.epoch_began_ns = self.epoch_began_ns.max(time_ns);
        self.readings.push((Epoch(self.epoch), self.epoch_began_ns));
    }

    fn put(&mut self, thread: u32, event: Event) {
        let epoch = self.epoch;
        let at = *self.indices.entry(thread).or_insert(self.threads.len());
        if at == self.threads.len() {
            let (id, name) = self.names.remove(&thread).unwrap_or_default();
            let info = ThreadInfo {
                index: ThreadIndex(at as u32),
                process: PROCESS,
                tid: id as u32,
                handle: at as u64 + 1,
                name: name.clone(),
                start_epoch: Epoch(epoch),
            };
            let (words, is_written) = (Vec::new(), false);
            self.threads.push(Thread { info, name, is_written, words, first_epoch: epoch, epoch });
        }
        let track = &mut self.threads[at];
        if track.words.is_empty() {
            (track.first_epoch, track.epoch) = (epoch, epoch);
        }
        let mut add = |event| {
            let encoded = words::encode(event);
            track.words.extend_from_slice(&encoded.words[..encoded.len]);
        };
        if track.epoch != epoch {
            add(Event::Epoch(Epoch(epoch)));
        }
        add(event);
        track.epoch = epoch;
    }

    /// The events that were collected since the last time.
    pub(super) fn section(&mut self, now_ns: u64) -> Section {
        let begun = self.begun.take();
        self.put_begun(begun);
        // What comes next is of a later epoch, so this section has everything up to here.
        self.next_epoch(now_ns);
        self.last = None;
        let mut has_events = false;
        let mut new = Vec::new();
        for thread in &mut self.threads {
            if !thread.words.is_empty() {
                self.encoder.add_block(thread.info.index, Epoch(thread.first_epoch), &thread.words);
                thread.words.clear();
                has_events = true;
            }
            if !std::mem::replace(&mut thread.is_written, true) {
                new.push(thread.info.clone());
            }
        }
        let events = has_events.then(|| self.encoder.finish(Epoch(self.epoch)));
        let readings = ClockReadings(std::mem::take(&mut self.readings));
        Section { threads: new, events, readings }
    }

    /// Whether or not they are gone: nothing more is known of them.
    pub(super) fn ends(&self) -> Vec<ThreadEnd> {
        let epoch = Epoch(self.epoch);
        let end = |t: &Thread| ThreadEnd { index: t.info.index, name: t.name.clone(), epoch, lost_events: 0 };
        self.threads.iter().map(end).collect()
    }
}
