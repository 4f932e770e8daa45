//! The recorder's side of the shared memory and the collector's, in one process.
//!
//! The writers are what recorded programs have in them. They join a session that is read here as the loop of the collector
//! reads it, but whenever the test says so.

#![expect(unsafe_code, reason = "is given memory by the recorder")]

mod forged;
mod interleavings;

use crate::buffers::Buffers;
use crate::claims::Claims;
use crate::distrust::{self, Started};
use crate::joins::Standing;
use crate::news::News;
use crate::process::{Common, Process};
use crate::refusals::Refusals;
use crate::session::{Session, Settings};
use heapwise_recorder::process::Process as Recorder;
use heapwise_recorder::thread::ThreadState;
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::records::{ProcessEnd, ProcessIndex};
use heapwise_trace::live::node::NodeKind;
use heapwise_trace::live::words::{decode, encode};
use std::collections::BTreeMap;

/// Numbers that look random and are the same for a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// The seeds of a test: a few that are always the same, and one that is new each time. A failure says which it was.
fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (1..=count).chain([now.as_nanos() as u64]).inspect(|seed| eprintln!("seed {seed}"))
}

/// A recorder that has joined a session.
fn recorder(session: &Session) -> &'static Recorder {
    let recorder: &'static Recorder = Box::leak(Box::new(Recorder::new()));
    assert!(recorder.set_session_path(session.path().as_bytes()) && recorder.attach(), "it joins");
    recorder
}

/// The state of the calling thread in a recorder, of which no other use is made.
fn thread_of(recorder: &Recorder) -> &'static mut ThreadState {
    let state = ThreadState::attach(std::ptr::null_mut(), recorder).expect("there is room for a thread");
    // SAFETY: it was made for the caller.
    unsafe { &mut *state }
}

/// The keys of the n-th stack that these tests write, outermost first: a few thousand different ones, of which many begin in
/// the same way.
fn keys_of(n: u64) -> impl Iterator<Item = u64> {
    let depth = 1 + n % 5;
    (0..depth).map(move |level| 0x1000 * (level + 1) + 16 * (n % (7 << (2 * level).min(8))))
}

/// Writes the n-th event of a thread.
fn write(recorder: &Recorder, thread: &mut ThreadState, n: u64) {
    let node = |parent, key| recorder.node(parent, key);
    let stack = keys_of(n).fold(recorder.trie.root(false), node);
    assert_ne!(stack, StackId::UNKNOWN, "there is room for the nodes");
    let address = BlockAddress(n * 8);
    let function = AllocFunction::Malloc;
    let event = match n % 3 {
        0 => Event::Alloc {
            address,
            size: n,
            align_log2: 0,
            allocator: AllocatorNumber::BY_NAME,
            function,
            stack,
        },
        1 => Event::ReallocEnd { new: address, size: n, stack, allocator: AllocatorNumber::BY_NAME },
        _ => Event::Realloc {
            old: address,
            new: address,
            size: n,
            stack,
            touched: None,
            allocator: AllocatorNumber::BY_NAME,
        },
    };
    thread.ring.push(encode(event), recorder);
}

/// The number and the stack of an event that [`write`] has written.
fn number(event: Event) -> Option<(u64, StackId)> {
    match event {
        Event::Alloc { address, size, stack, .. }
        | Event::ReallocEnd { new: address, size, stack, .. }
        | Event::Realloc { old: address, size, stack, .. } => {
            assert_eq!(address.0, size * 8, "an event is torn");
            Some((size, stack))
        }
        _ => None,
    }
}

/// What the collector has of one process.
struct Reading {
    process: Process,
    nodes: BTreeMap<u32, (u32, u64)>,
    /// The words of each thread, in the order in which they arrived.
    words: BTreeMap<u32, Vec<u64>>,
    /// What each thread's kernel id is.
    tids: BTreeMap<u32, u32>,
    /// When its threads are said to have begun.
    starts: Vec<Epoch>,
    lost: BTreeMap<u32, u64>,
    /// When its threads were found to be gone.
    ends: Vec<Epoch>,
}

/// The collector, of which every part moves when the test says so.
struct Reader {
    session: Session,
    claims: Claims,
    started: Started,
    refusals: Refusals,
    buffers: Buffers,
}

impl Reader {
    fn new() -> Self {
        let session = Session::new(Settings::default()).expect("shared memory");
        let mut started = Started::new(None);
        started.add(1 << 10);
        let (claims, refusals) = (Claims::default(), Refusals::default());
        Self { session, claims, started, refusals, buffers: Buffers::default() }
    }

    /// Takes in a process that has joined.
    fn take_in(&mut self, recorder: &Recorder) -> Reading {
        let header = recorder.header().expect("it has joined");
        let offset = header.arenas[0].load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(self.session.process_at(offset), Some(std::process::id()));
        let first = distrust::arena(offset).expect("an arena");
        assert!(self.claims.take(&first, offset));
        let who = (std::process::id(), Standing::Proven);
        let refusals = &mut self.refusals;
        let process = Process::new(&self.session, first, who, ProcessIndex(0), |_| None, refusals);
        let process = process.expect("it is mapped");
        let (nodes, words) = (BTreeMap::new(), BTreeMap::new());
        let (tids, lost) = (BTreeMap::new(), BTreeMap::new());
        Reading { process, nodes, words, tids, starts: Vec::new(), lost, ends: Vec::new() }
    }

    fn common(&mut self) -> Common<'_> {
        Common {
            session: &self.session,
            claims: &mut self.claims,
            started: &mut self.started,
            refusals: &mut self.refusals,
        }
    }
}

impl Reading {
    /// Takes what was written since, as far as there is room. Returns how many bytes of events that was, and whether some were left.
    fn read(&mut self, reader: &mut Reader, room: usize, at_end: bool) -> (usize, bool) {
        let mut news = News::default();
        let drained = self.process.drain(&mut reader.common(), room, &mut news);
        while !self.process.read_tables(&mut reader.common(), &mut news, at_end) {
            self.note(std::mem::take(&mut news));
        }
        self.note(news);
        for (thread, words) in self.process.take_pending(&reader.buffers) {
            self.words.entry(thread.0).or_default().extend(words);
        }
        drained
    }

    fn note(&mut self, news: News) {
        for nodes in news.nodes {
            self.nodes.extend((nodes.first_id..).zip(nodes.nodes));
        }
        self.tids.extend(news.threads.iter().map(|thread| (thread.index.0, thread.tid)));
        self.starts.extend(news.threads.iter().map(|thread| thread.start_epoch));
        self.ends.extend(news.thread_ends.iter().map(|end| end.epoch));
        self.lost.extend(news.thread_ends.iter().map(|end| (end.index.0, end.lost_events)));
    }

    /// Looks which threads are gone.
    fn check_threads(&mut self, reader: &mut Reader) {
        let mut news = News::default();
        self.process.check_threads(&mut reader.common(), &mut news);
        self.note(news);
    }

    /// Takes the rest.
    fn end(&mut self, reader: &mut Reader) -> ProcessEnd {
        while self.read(reader, usize::MAX, true).0 > 0 {}
        let mut news = News::default();
        let end = self.process.end(&reader.session, false, &mut news);
        self.note(news);
        end
    }

    /// The events of a thread so far, each with a stack that is known by now: number and keys.
    fn events(&self, thread: u32) -> Vec<u64> {
        let mut rest = self.words.get(&thread).map_or(&[][..], Vec::as_slice);
        let mut found = Vec::new();
        while let Some((event, used)) = decode(rest) {
            rest = &rest[used..];
            if let Some((n, stack)) = number(event) {
                assert!(self.keys(stack).eq(keys_of(n)), "event {n} has the stack of another one");
                found.push(n);
            }
        }
        assert!(rest.is_empty(), "{} words are left that are no event", rest.len());
        found
    }

    fn keys(&self, stack: StackId) -> impl Iterator<Item = u64> {
        let (mut keys, mut at) = (Vec::new(), stack.0);
        loop {
            let &(parent, key) = self.nodes.get(&at).unwrap_or_else(|| panic!("node {at} is not there"));
            if key == 0 || matches!(NodeKind::from_key(key), NodeKind::Root { .. }) {
                return keys.into_iter().rev();
            }
            keys.push(key);
            at = parent;
        }
    }
}
