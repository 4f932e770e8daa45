//! What `tests/victims/hostile` does from another process, and what chance does: one process writes to the shared memory
//! whatever it likes, beside another one whose events are all to arrive.

use super::{Random, Reader, Reading, recorder, seeds, thread_of, write};
use crate::distrust;
use heapwise_recorder::process::Process as Recorder;
use heapwise_recorder::thread::ThreadState;
use heapwise_trace::live::layout::{
    ARENA_BYTES, MAX_NODE_CHUNKS, MAX_RINGS, NODES_PER_CHUNK, NodeRecord, ProcessHeader, RingHeader,
    SESSION_BYTES, SessionHeader,
};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Events of either process before the attack, and of the other one at each step of it.
const EVENTS: u64 = 300;

/// A process that attacks, and one that does not.
struct Scene {
    reader: Reader,
    attacker: &'static Recorder,
    attacked: Reading,
    sibling: &'static Recorder,
    thread: &'static mut ThreadState,
    read: Reading,
    sent: u64,
}

/// What an attacker can write to.
struct Reach {
    session: &'static SessionHeader,
    header: &'static ProcessHeader,
    ring: &'static RingHeader,
    /// Where the header of the other process lies.
    sibling: u64,
}

impl Reach {
    fn own(&self) -> u64 {
        self.header.arenas[0].load(Ordering::Relaxed)
    }

    /// The first of the ring's words.
    fn words(&self) -> &'static [AtomicU64] {
        // SAFETY: a ring's words follow its header, and a ring of this process has this many.
        unsafe {
            std::slice::from_raw_parts(std::ptr::from_ref(self.ring).cast::<AtomicU64>().add(512), 1000)
        }
    }
}

fn put(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Release);
}

fn put_short(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
}

impl Scene {
    fn new() -> Self {
        let mut reader = Reader::new();
        let [attacker, sibling] = [0; 2].map(|_| recorder(&reader.session));
        let [attacked, read] = [attacker, sibling].map(|recorder| reader.take_in(recorder));
        let own_thread = thread_of(attacker);
        (1..=EVENTS).for_each(|n| write(attacker, own_thread, n));
        let thread = thread_of(sibling);
        Self { reader, attacker, attacked, sibling, thread, read, sent: 0 }
    }

    fn reach(&self) -> Reach {
        let first = |recorder: &Recorder| {
            // SAFETY: null before a thread has joined, or a ring's header, which is never unmapped.
            unsafe { recorder.rings[0].load(Ordering::Relaxed).as_ref() }.expect("a thread has joined")
        };
        Reach {
            session: self.attacker.session().expect("it has joined"),
            header: self.attacker.header().expect("it has joined"),
            ring: first(self.attacker),
            sibling: self.sibling.header().expect("it has joined").arenas[0].load(Ordering::Relaxed),
        }
    }

    /// A round of the collector, while the other process goes on.
    fn round(&mut self) {
        for _ in 0..EVENTS {
            self.sent += 1;
            write(self.sibling, self.thread, self.sent);
        }
        let session = &self.reader.session;
        session.tick();
        session.put_right();
        let newest = session.header().newest_process.0.load(Ordering::Acquire);
        let is_known = |at| !self.reader.claims.is_new(at);
        let (found, _) = distrust::headers(newest, is_known, |at| session.previous(at));
        found.into_iter().for_each(|at| _ = session.process_at(at));
        for reading in [&mut self.attacked, &mut self.read] {
            reading.read(&mut self.reader, usize::MAX, false);
            reading.check_threads(&mut self.reader);
            reading.process.describe(None);
            let process = &reading.process;
            let _ = (process.is_silent(), process.verify_failed_at(), process.waits_for_exit_snapshot());
        }
    }

    /// Ends both, and looks at what has come of it. Returns what was refused, and how many threads
    /// the attacker is said to have had.
    fn end(mut self) -> (Vec<String>, usize) {
        for reading in [&mut self.attacked, &mut self.read] {
            reading.end(&mut self.reader);
        }
        // The sibling has lost nothing and is believed.
        assert_eq!(self.read.tids.len(), 1);
        let (&index, _) = self.read.tids.first_key_value().expect("its thread");
        assert!(self.read.events(index).into_iter().eq(1..=self.sent), "the sibling's events are others");
        assert_eq!(self.read.lost[&index], 0);
        // What is kept of the attacker is no more than what it has memory for.
        let words: usize = self.attacked.words.values().map(Vec::len).sum();
        assert!(words as u64 * 8 <= 2 * ARENA_BYTES, "{words} words");
        assert!(
            self.attacked.nodes.len() as u64 * 16 <= 2 * ARENA_BYTES,
            "{} nodes",
            self.attacked.nodes.len()
        );
        assert!(self.attacked.tids.len() <= 2000 && self.attacked.process.own_bytes() <= 4 * ARENA_BYTES);
        let now = self.reader.session.epoch();
        let mut starts = self.attacked.starts.iter().chain(&self.read.starts);
        assert!(starts.all(|&start| start <= now), "a thread is believed to begin in the future");
        let refused = self.reader.refusals.into_records().into_iter().map(|refusal| refusal.what);
        (refused.collect(), self.attacked.tids.len())
    }
}

/// An attack, and what of it is not believed.
type Attack = (&'static str, fn(&Reach, u64), &'static [&'static str]);

const LIST: &[&str] = &[];
const RINGS: &[&str] = &["a ring of events"];
const NODES: &[&str] = &["nodes of stacks"];

/// Each is done again at every round, whose number it gets.
const ATTACKS: &[Attack] = &[
    (
        "a list that goes round",
        |at, _| {
            put(&at.header.previous, at.own());
            put(&at.session.newest_process.0, at.own());
        },
        LIST,
    ),
    ("a list that leads beyond the end", |at, _| put(&at.session.newest_process.0, SESSION_BYTES), LIST),
    (
        "a list that leads to nothing",
        |at, n| put(&at.session.newest_process.0, at.own() + (n + 9) * ARENA_BYTES),
        LIST,
    ),
    (
        "the arenas of others",
        |at, _| {
            at.header.arenas[1..].iter().for_each(|arena| put(arena, at.sibling));
        },
        &["memory of a process"],
    ),
    (
        "arenas nowhere",
        |at, n| {
            at.header.arenas[1..].iter().for_each(|arena| put(arena, n * 0x123_4567 + 1));
        },
        &["memory of a process"],
    ),
    (
        "rings upon one another",
        |at, _| {
            at.header.rings[1..]
                .iter()
                .for_each(|ring| put(ring, at.header.rings[0].load(Ordering::Relaxed)));
            put_short(&at.header.ring_count, u32::MAX);
        },
        RINGS,
    ),
    (
        "rings nowhere",
        |at, _| {
            at.header.rings[1..].iter().zip(1..).for_each(|(ring, n)| put(ring, u64::MAX - 64 * n));
            put_short(&at.header.ring_count, MAX_RINGS as u32);
        },
        RINGS,
    ),
    (
        "rings of the sibling",
        |at, _| {
            at.header.rings[1..].iter().for_each(|ring| put(ring, at.sibling + (1 << 20)));
            put_short(&at.header.ring_count, 100);
        },
        RINGS,
    ),
    ("a writer before its reader", |at, n| put(&at.ring.head, n), RINGS),
    ("a writer far ahead", |at, _| put(&at.ring.head, !7), RINGS),
    ("a reader that goes back", |at, n| put(&at.ring.tail.0, n), &[]),
    ("a ring that grows", |at, _| put(&at.ring.capacity, 1 << 40), &[]),
    ("threads from the future", |at, _| put(&at.ring.start_epoch, u64::MAX), &["threads"]),
    ("threads that never were", |at, n| put(&at.ring.incarnation, n + 2), RINGS),
    ("nodes that were never written", |at, _| put_short(&at.header.node_count, u32::MAX), NODES),
    (
        "chunks that are one",
        |at, _| {
            let chunks = &at.header.node_chunks;
            chunks[1..].iter().for_each(|chunk| put(chunk, chunks[0].load(Ordering::Relaxed)));
            put_short(&at.header.node_count, NODES_PER_CHUNK * MAX_NODE_CHUNKS as u32);
        },
        NODES,
    ),
    (
        "chunks of the sibling",
        |at, _| {
            at.header.node_chunks.iter().for_each(|chunk| put(chunk, at.sibling));
            put_short(&at.header.node_count, NODES_PER_CHUNK + 77);
        },
        NODES,
    ),
    (
        "logs without an end",
        |at, _| {
            put_short(&at.header.module_log_len, u32::MAX);
            put_short(&at.header.mark_log_len, u32::MAX);
            put(&at.header.mark_log, at.own());
        },
        &[],
    ),
    (
        "logs nowhere",
        |at, _| {
            put(&at.header.module_log, u64::MAX);
            put_short(&at.header.module_log_len, 1 << 19);
            put(&at.header.mark_log, at.own() + ARENA_BYTES - 8);
            put_short(&at.header.mark_log_len, 1 << 19);
        },
        &[],
    ),
    (
        "texts without an end",
        |at, _| {
            put_short(&at.header.command_len, u32::MAX);
            put_short(&at.header.allocator_len, u32::MAX);
        },
        &[],
    ),
    (
        "the session's constants",
        |at, n| {
            put(&at.session.magic, n);
            put(&at.session.clock.0, u64::MAX - n);
            put(&at.session.next_arena.0, n);
            put_short(&at.session.collector_pid, 1);
        },
        &[],
    ),
];

#[test]
fn whatever_a_process_writes_harms_itself_alone() {
    for (what, attack, refused) in ATTACKS {
        eprintln!("{what}");
        let began = Instant::now();
        let mut scene = Scene::new();
        let reach = scene.reach();
        // Once before anything was read, and again when the collector knows better.
        for round in 0..4 {
            if what.starts_with("threads") || round % 2 == 1 || *what == "chunks of the sibling" {
                attack(&reach, round);
            }
            scene.round();
        }
        let refused = refused.iter().map(ToString::to_string).collect();
        assert_eq!(scene.end(), (refused, 1), "{what}");
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: {:?}", began.elapsed());
    }
}

#[test]
fn a_process_that_joins_in_the_future_has_joined_now() {
    let mut reader = Reader::new();
    let recorder = recorder(&reader.session);
    put(&recorder.header().expect("it has joined").start_epoch, u64::MAX);
    let reading = reader.take_in(recorder);
    assert_eq!(reading.process.info.start_epoch, reader.session.epoch());
    let refused: Vec<String> =
        reader.refusals.into_records().into_iter().map(|refusal| refusal.what).collect();
    assert_eq!(refused, ["a process"]);
}

#[test]
fn stacks_that_lead_round_are_read_once() {
    let mut scene = Scene::new();
    let reach = scene.reach();
    let count = reach.header.node_count.load(Ordering::Relaxed);
    let chunk = reach.header.node_chunks[0].load(Ordering::Relaxed);
    let mapping = scene.reader.session.map(reach.own()).expect("it is mapped");
    let node = |id: u32| {
        let at = chunk - reach.own() + u64::from(id) * size_of::<NodeRecord>() as u64;
        mapping.get::<NodeRecord>(at as usize).expect("a node")
    };
    for id in 3..count {
        put_short(&node(id).parent, if id % 2 == 0 { id } else { count - id });
    }
    scene.round();
    let (nodes, count) = (&scene.attacked.nodes, count as usize);
    assert_eq!(nodes.len(), count - 1, "as many as there are, wherever they lead");
    assert_eq!(scene.end(), (vec![], 1));
}

/// A number that is wrong in some way, more often than one that is chosen from all.
fn wrong(random: &mut Random, reach: &Reach) -> u64 {
    let near = [
        0,
        1 << 12,
        1 << 20,
        1 << 31,
        1 << 32,
        1 << 40,
        1 << 63,
        SESSION_BYTES,
        u64::MAX,
        reach.own(),
        reach.sibling,
    ];
    let base = near[random.below(near.len() as u64) as usize];
    match random.below(6) {
        0 => random.next(),
        1 => base.wrapping_sub(8 * random.below(9)),
        2 => base.wrapping_add(random.below(1 << 26)),
        3 => base.wrapping_add(ARENA_BYTES),
        _ => base.wrapping_add(8 * random.below(9)),
    }
}

/// Writes something wrong somewhere.
fn scribble(random: &mut Random, reach: &Reach) {
    let value = wrong(random, reach);
    let (header, ring, session) = (reach.header, reach.ring, reach.session);
    let long: &[&[AtomicU64]] = &[
        &header.arenas[1..],
        &header.rings,
        &header.node_chunks,
        &header.index_tables,
        std::slice::from_ref(&header.previous),
        std::slice::from_ref(&header.lost_events),
        std::slice::from_ref(&header.module_log),
        std::slice::from_ref(&header.mark_log),
        std::slice::from_ref(&ring.head),
        std::slice::from_ref(&ring.tail.0),
        std::slice::from_ref(&ring.lost_events),
        std::slice::from_ref(&ring.incarnation),
        std::slice::from_ref(&ring.capacity),
        std::slice::from_ref(&ring.start_epoch),
        std::slice::from_ref(&session.next_arena.0),
        std::slice::from_ref(&session.clock.0),
        std::slice::from_ref(&session.newest_process.0),
        &ring.name,
        reach.words(),
    ];
    let short: &[&AtomicU32] = &[
        &header.pid,
        &header.command_len,
        &header.allocator_len,
        &header.ring_count,
        &header.node_count,
        &header.module_log_len,
        &header.mark_log_len,
        &header.exiting,
        &ring.state,
        &ring.tid,
        &ring.waiting,
        &session.version,
        &session.wake.0,
    ];
    match random.below((long.len() + short.len()) as u64) as usize {
        at if at < long.len() => put(&long[at][random.below(long[at].len() as u64) as usize], value),
        at => put_short(short[at - long.len()], value as u32),
    }
}

#[test]
fn whatever_chance_writes_harms_itself_alone() {
    for seed in seeds(40) {
        let (began, mut random) = (Instant::now(), Random(seed));
        let mut scene = Scene::new();
        let reach = scene.reach();
        for _ in 0..6 {
            (0..random.below(30)).for_each(|_| scribble(&mut random, &reach));
            scene.round();
        }
        scene.end();
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}
