//! Several recorders in one process: each has its own session or its own part of one, and knows nothing of the others.

use crate::arch::entry::Entry;
use crate::arch::tls::ThreadWords;
use crate::process::Process;
use crate::ring::{Patience, Producer, Waiting};
use crate::thread::ThreadState;
use crate::turn::begin_with;
use heapwise_trace::event::{BlockAddress, Epoch, Event, MarkId, StackId};
use heapwise_trace::live::layout::{
    CLOCK_PAUSED, CLOCK_STOPPED, LIVE_VERSION, MAX_MARK_NAMES, ProcessHeader, RING_DATA_OFFSET, RingHeader,
    SESSION_BYTES, SESSION_HEADER_BYTES, SESSION_MAGIC, SessionHeader, exit_state, ring_state,
};
use heapwise_trace::live::words::{decode, encode};
use std::cell::RefCell;
use std::fs::File;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// A session as the collector makes it, which stays for the rest of the test.
struct Session(File);

impl Session {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let nth = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = format!("/dev/shm/heapwise-sessions-{}-{nth}", std::process::id());
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("it was just made");
        file.set_len(SESSION_BYTES).expect("a sparse file");
        let session = Self(file);
        session.put(offset_of!(SessionHeader, version), &LIVE_VERSION.to_le_bytes());
        session.put(offset_of!(SessionHeader, collector_pid), &std::process::id().to_le_bytes());
        session.put(offset_of!(SessionHeader, clock), &1u64.to_le_bytes());
        session.put(offset_of!(SessionHeader, next_arena), &SESSION_HEADER_BYTES.to_le_bytes());
        session.put(offset_of!(SessionHeader, magic), &SESSION_MAGIC.to_le_bytes());
        session
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        self.0.write_all_at(bytes, at as u64).expect("it is as long");
    }

    fn word(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, at).expect("it is as long");
        u64::from_le_bytes(bytes)
    }

    fn newest(&self) -> u64 {
        self.word(offset_of!(SessionHeader, newest_process) as u64)
    }

    /// A recorder that knows where this session is, and has not joined it.
    fn recorder(&self) -> &'static Process {
        let process: &'static Process = Box::leak(Box::new(Process::new()));
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd());
        assert!(process.set_session_path(path.as_bytes()) && !process.set_session_path(path.as_bytes()));
        process
    }

    fn joined(&self) -> &'static Process {
        let process = self.recorder();
        assert!(process.attach() && process.attach(), "it joins, and has joined");
        process
    }

    /// The events in a ring of a process, from its first word on.
    fn events(&self, process: &Process, ring: usize) -> Vec<Event> {
        let header = process.header().expect("it has joined");
        let at = header.rings[ring].load(Ordering::Relaxed);
        let head = self.word(at + offset_of!(RingHeader, head) as u64);
        let words: Vec<u64> = (0..head / 8).map(|n| self.word(at + RING_DATA_OFFSET + n * 8)).collect();
        let mut rest = words.as_slice();
        let mut events = Vec::new();
        while let Some((event, used)) = decode(rest) {
            events.push(event);
            rest = &rest[used..];
        }
        assert!(rest.is_empty(), "{rest:x?} is left over");
        events
    }
}

fn thread_of(process: &Process) -> &'static mut ThreadState {
    let state = ThreadState::attach(null_mut(), process).expect("there is room for a thread");
    // SAFETY: made for this caller alone.
    unsafe { &mut *state }
}

fn ring_of(process: &Process, index: usize) -> &RingHeader {
    // SAFETY: a ring of a process that has joined, which is never unmapped.
    unsafe { &*process.rings[index].load(Ordering::Relaxed) }
}

fn free(n: u64) -> Event {
    Event::Free { address: BlockAddress(n * 8), touched: None }
}

/// The words of a thread that has recorded nothing.
fn words() -> ThreadWords {
    let (state, nested) = (null_mut(), Default::default());
    ThreadWords { state, nested, ..ThreadWords::new() }
}

fn lost(process: &Process) -> u64 {
    process.header().expect("it has joined").lost_events.load(Ordering::Relaxed)
}

#[test]
fn turns_of_two_recorders_do_not_stand_in_each_others_way() {
    let sessions = [Session::new(), Session::new()];
    let recorders = sessions.each_ref().map(Session::recorder);
    let mut words = [words(), words()];
    let [one, other] = words.each_mut().map(|words| &raw mut *words);
    let here = 0usize;
    let sp = &raw const here as usize & !15;
    let entry = Entry { stack_pointer: sp, frame_pointer: 0 };
    let inner = Entry { stack_pointer: sp - 64, frame_pointer: 0 };
    let mut turn = begin_with(recorders[0], one, entry, true).expect("this is its first event");
    let clock = turn.clock();
    assert!(turn.at(clock) && !turn.is_nested());
    turn.push(free(1));
    // The recorder is at work on this thread, for this process.
    assert!(begin_with(recorders[0], one, inner, true).is_none());
    assert!(begin_with(recorders[0], one, inner, false).is_none(), "which is no event");
    assert_eq!(lost(recorders[0]), 1);
    let mut second = begin_with(recorders[1], other, inner, true).expect("this one is free");
    second.push(free(2));
    drop((second, turn));
    assert_eq!((sessions[0].events(recorders[0], 0), lost(recorders[0])), (vec![free(1)], 1));
    assert_eq!((sessions[1].events(recorders[1], 0), lost(recorders[1])), (vec![free(2)], 0));
    assert!(begin_with(recorders[0], one, inner, true).is_some(), "the turn is over");
}

#[test]
fn a_turn_that_never_ended_is_counted_when_the_next_one_shows_it() {
    let session = Session::new();
    let process = session.recorder();
    let mut words = words();
    let words = &raw mut words;
    let here = 0usize;
    let sp = &raw const here as usize & !15;
    let entry = Entry { stack_pointer: sp, frame_pointer: 0 };
    let turn = begin_with(process, words, entry, true).expect("this is its first event");
    assert!(turn.thread.stack.stacks.switch_to(sp), "it is on the stack of this thread");
    core::mem::forget(turn);
    let mut next = begin_with(process, words, entry, true).expect("the same call once more");
    next.push(free(1));
    drop(next);
    assert_eq!((session.events(process, 0), lost(process)), (vec![free(1)], 1));
}

#[test]
fn a_recording_that_is_paused_or_over_takes_no_events() {
    let session = Session::new();
    let process = session.recorder();
    let mut words = words();
    let words = &raw mut words;
    let here = 0usize;
    let entry = Entry { stack_pointer: &raw const here as usize & !15, frame_pointer: 0 };
    let write = |clock: u64, n| {
        session.put(offset_of!(SessionHeader, clock), &clock.to_le_bytes());
        let mut turn = begin_with(process, words, entry, true).expect("no other call is at work");
        let clock = turn.clock();
        let is_recorded = turn.at(clock);
        if is_recorded {
            turn.push(free(n));
        }
        is_recorded
    };
    assert!(write(1, 1) && write(5, 2));
    assert!(!write(CLOCK_PAUSED | 6, 3) && write(7, 4) && !write(CLOCK_STOPPED | 8, 5));
    let epoch = |n| Event::Epoch(Epoch(n));
    assert_eq!(session.events(process, 0), [free(1), epoch(5), free(2), epoch(7), free(4)]);
    assert_eq!(lost(process), 0, "what is not to be recorded is not lost");
}

#[test]
fn a_node_that_was_made_with_its_caller_is_found_next_to_it() {
    let session = Session::new();
    let process = session.joined();
    let outer = process.node(process.trie.root(false), 0x1000);
    let first = process.node(outer, 0x2000);
    assert_eq!(process.trie.next_node(outer, 0x2000), Some(first));
    let second = process.node(outer, 0x3000);
    for (caller, key) in [(outer, 0x3000), (outer, 0), (second, 0x2000), (first, 0x3000)] {
        assert_eq!(process.trie.next_node(caller, key), None, "{caller:?} has no such callee next to it");
    }
}

#[test]
fn two_recorders_in_two_sessions_share_nothing() {
    let sessions = [Session::new(), Session::new()];
    let recorders = sessions.each_ref().map(Session::joined);
    for (nth, process) in recorders.into_iter().enumerate() {
        let thread = thread_of(process);
        // The trie of each begins anew: the same ids, for other stacks.
        let outer = process.node(process.trie.root(false), 0x1000 + nth as u64);
        assert_eq!((outer, process.node(outer, 0x2000)), (StackId(3), StackId(4)));
        assert_eq!(process.node(process.trie.root(false), 0x1000 + nth as u64), outer, "it is known");
        thread.ring.push(encode(free(nth as u64 + 1)), process);
        let mark = process.marks.intern(&process.region, format!("phase {nth}").as_bytes());
        assert_eq!(mark.0, 1);
    }
    for (nth, (session, process)) in sessions.iter().zip(recorders).enumerate() {
        assert_eq!(session.events(process, 0), [free(nth as u64 + 1)]);
        assert_eq!(session.newest(), SESSION_HEADER_BYTES);
        let header = process.header().expect("it has joined");
        assert_eq!(header.node_count.load(Ordering::Relaxed), 5);
        let nodes = header.node_chunks[0].load(Ordering::Relaxed);
        assert_eq!(session.word(nodes + 3 * 16), 0x1000 + nth as u64, "the key of the first frame");
    }
}

#[test]
fn two_recorders_of_one_session_are_two_processes_of_its_list() {
    let session = Session::new();
    let [first, second] = [session.joined(), session.joined()];
    let newest = session.newest();
    assert_ne!(newest, SESSION_HEADER_BYTES);
    assert_eq!(session.word(newest + offset_of!(ProcessHeader, previous) as u64), SESSION_HEADER_BYTES);
    for (process, count) in [(first, 3), (second, 5)] {
        let thread = thread_of(process);
        (0..count).for_each(|n| thread.ring.push(encode(free(n)), process));
    }
    assert_eq!((session.events(first, 0).len(), session.events(second, 0).len()), (3, 5));
}

#[test]
fn a_session_of_another_version_is_refused_and_none_is_no_reason_to_complain() {
    let session = Session::new();
    session.put(offset_of!(SessionHeader, version), &(LIVE_VERSION + 1).to_le_bytes());
    let process = session.recorder();
    assert!(!process.attach() && process.is_inert() && process.header().is_none());
    assert!(ThreadState::attach(null_mut(), process).is_none());
    process.count_lost();
    assert_eq!(session.newest(), 0);
}

/// A thread that may not wait, and which of its looks at the progress are said to be the first one.
#[derive(Default)]
struct Hurried(RefCell<Vec<bool>>);

impl Waiting for Hurried {
    fn looked_up(&self, _head: u64, is_first: bool) {
        self.0.borrow_mut().push(is_first);
    }

    fn wake_collector(&self) {}

    fn patience(&self) -> Patience {
        Patience::None
    }

    fn sleep(&self, _tail: &AtomicU64, _seen: u64) -> bool {
        unreachable!("it does not wait")
    }

    fn is_over(&self) -> bool {
        unreachable!("it does not wait")
    }
}

#[test]
fn each_threads_first_look_is_known_in_a_ring_that_another_one_had_as_well() {
    let session = Session::new();
    let process = session.joined();
    thread_of(process);
    let ring = ring_of(process, 0);
    let words: Vec<AtomicU64> = std::iter::repeat_with(AtomicU64::default).take(1 << 14).collect();
    for _ in 0..2 {
        let (mut writer, looks) = (Producer::new(ring, &words), Hurried::default());
        (0..600).for_each(|n| writer.push(encode(free(n)), &looks));
        assert_eq!(looks.0.into_inner(), [true, false]);
        ring.tail.0.store(ring.head.load(Ordering::Relaxed), Ordering::Release);
    }
    assert_eq!(ring.head.load(Ordering::Relaxed), 1200 * 8, "the second one went on behind the first");
}

#[test]
fn a_full_ring_counts_what_is_lost_and_goes_on_where_there_is_room_again() {
    let session = Session::new();
    let process = session.joined();
    let thread = thread_of(process);
    let ring = ring_of(process, 0);
    let capacity = ring.capacity.load(Ordering::Relaxed);
    let sent = capacity / 8 + 1000;
    (0..sent).for_each(|n| thread.ring.push(encode(free(n)), &Hurried::default()));
    let (head, lost) = (ring.head.load(Ordering::Relaxed), ring.lost_events.load(Ordering::Relaxed));
    assert!(head <= capacity && head > capacity - 256, "{head} of {capacity}");
    assert_eq!(head / 8 + lost, sent, "each was written or counted");
    assert_eq!(session.events(process, 0).last(), Some(&free(head / 8 - 1)));
    // Room for a few: they go around the end, and nothing more is lost.
    ring.tail.0.store(head, Ordering::Release);
    let before: Vec<Event> = (0..100).map(|n| free(1_000_000 + n)).collect();
    before.iter().for_each(|&event| thread.ring.push(encode(event), &Hurried::default()));
    assert_eq!(ring.lost_events.load(Ordering::Relaxed), lost);
    assert_eq!(ring.head.load(Ordering::Relaxed), head + 800);
    let at = process.header().expect("it has joined").rings[0].load(Ordering::Relaxed) + RING_DATA_OFFSET;
    for (n, event) in before.into_iter().enumerate() {
        let word = session.word(at + (head + n as u64 * 8) % capacity);
        assert_eq!(decode(&[word]), Some((event, 1)));
    }
}

#[test]
fn what_waits_for_room_when_the_recording_ends_is_written_as_soon_as_there_is_some() {
    let session = Session::new();
    let process = session.joined();
    let thread = thread_of(process);
    let ring = ring_of(process, 0);
    let full = ring.capacity.load(Ordering::Relaxed) / 8;
    (0..full).for_each(|n| thread.ring.push(encode(free(n)), &Hurried::default()));
    let (head, lost) = (ring.head.load(Ordering::Relaxed), ring.lost_events.load(Ordering::Relaxed));
    assert!(lost > 0, "it is full");
    session.put(offset_of!(SessionHeader, clock), &(CLOCK_STOPPED | 1).to_le_bytes());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Some steps of waiting later.
            std::thread::sleep(Duration::from_millis(30));
            ring.tail.0.store(head, Ordering::Release);
        });
        thread.ring.push(encode(free(1)), process);
    });
    assert_eq!(ring.lost_events.load(Ordering::Relaxed), lost);
    assert_eq!(ring.head.load(Ordering::Relaxed), head + 8);
}

#[test]
fn a_tail_that_cannot_be_costs_events_and_nothing_else() {
    let session = Session::new();
    let process = session.joined();
    let thread = thread_of(process);
    let ring = ring_of(process, 0);
    for tail in [u64::MAX, 1 << 63, 12345, u64::MAX - 4096] {
        ring.tail.0.store(tail, Ordering::Release);
        (0..2000).for_each(|n| thread.ring.push(encode(free(n)), &Hurried::default()));
    }
    let written = ring.head.load(Ordering::Relaxed) / 8;
    assert_eq!(written + ring.lost_events.load(Ordering::Relaxed), 8000);
}

#[test]
fn a_ring_whose_thread_is_gone_is_taken_by_the_next_one() {
    let session = Session::new();
    let process = session.joined();
    let states = [0, 1].map(|_| ThreadState::attach(null_mut(), process).expect("there is room"));
    assert_eq!(process.header().expect("it has joined").ring_count.load(Ordering::Relaxed), 2);
    assert_eq!(process.threaded.load(Ordering::Relaxed), 1, "they move the clock themselves");
    // SAFETY: this test's alone.
    unsafe { &mut *states[0] }.ring.push(encode(free(1)), process);
    let ring = ring_of(process, 0);
    ring.state.store(ring_state::FREE, Ordering::Release);
    let next = ThreadState::attach(null_mut(), process).expect("there is room");
    assert_eq!(next, states[0], "with the memory of the thread that is gone");
    assert_eq!(ring.incarnation.load(Ordering::Relaxed), 2);
    // SAFETY: as above.
    unsafe { &mut *next }.ring.push(encode(free(2)), process);
    assert_eq!(session.events(process, 0), [free(1), free(2)]);
    assert_eq!(process.header().expect("it has joined").ring_count.load(Ordering::Relaxed), 2);
}

#[test]
fn threads_that_add_the_same_stacks_agree_on_them() {
    let session = Session::new();
    let process = session.joined();
    let ids = || {
        let root = process.trie.root(false);
        // More than a chunk has room for, and than the first tables.
        (1..40_000u64).map(|n| process.node(process.node(root, (n % 7) << 12), n << 4)).collect::<Vec<_>>()
    };
    let all = std::thread::scope(|scope| {
        let threads = [0; 4].map(|_| scope.spawn(ids));
        threads.map(|thread| thread.join().expect("it ends"))
    });
    let header = process.header().expect("it has joined");
    let count = header.node_count.load(Ordering::Relaxed);
    let known = ids();
    assert_eq!(header.node_count.load(Ordering::Relaxed), count, "all of them are known by now");
    for (n, id) in (1..).zip(&known) {
        let chunk = header.node_chunks[id.0 as usize >> 16].load(Ordering::Relaxed);
        assert_eq!(session.word(chunk + u64::from(id.0 & 0xffff) * 16), n << 4);
    }
    assert!(all.iter().flatten().all(|id| id.0 < count && *id != StackId::UNKNOWN));
}

#[test]
fn stacks_are_the_same_by_their_frames_also_where_a_node_has_a_twin() {
    let session = Session::new();
    let process = session.joined();
    let (trie, node) = (&process.trie, |parent, key| process.node(parent, key));
    let (whole, cut) = (trie.root(false), trie.root(true));
    let a = node(whole, 0x1000);
    let ab = node(a, 0x2000);
    // What two threads make that meet a frame at the same time.
    let twin = StackId(trie.append(&process.region, None, whole.0, 0x1000).expect("there is memory"));
    let twin_b = node(twin, 0x2000);
    assert!(twin != a && twin_b != ab);
    assert!(trie.are_same(ab, ab) && trie.are_same(ab, twin_b) && trie.are_same(twin, a));
    assert!(!trie.are_same(a, ab) && !trie.are_same(ab, node(a, 0x3000)));
    assert!(!trie.are_same(a, node(cut, 0x1000)), "one is whole, the other is cut");
    assert!(!trie.are_same(ab, StackId::UNKNOWN) && !trie.are_same(StackId::UNKNOWN, ab));
}

#[test]
fn names_beyond_the_table_have_one_id_and_those_within_keep_theirs() {
    let session = Session::new();
    let process = session.joined();
    let intern = |n: usize| process.marks.intern(&process.region, format!("name {n}").as_bytes());
    let ids: Vec<u32> = (0..MAX_MARK_NAMES + 10).map(|n| intern(n).0).collect();
    let other = MarkId::OTHER.0;
    assert!(ids[..MAX_MARK_NAMES].iter().zip(1..).all(|(&id, n)| id == n));
    assert!(ids[MAX_MARK_NAMES..].iter().all(|&id| id == other));
    assert_eq!((intern(0).0, intern(MAX_MARK_NAMES - 1).0), (1, MAX_MARK_NAMES as u32));
}

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

#[test]
fn a_forked_child_joins_as_a_process_of_its_own() {
    let session = Session::new();
    let process = session.joined();
    let state = ThreadState::attach(null_mut(), process).expect("there is room");
    // SAFETY: this test's alone.
    unsafe { &mut *state }.ring.push(encode(free(1)), process);
    let (stamp, parent) = (process.stamp(), session.newest());
    // SAFETY: the child takes no lock of the C library and does not allocate.
    let child = unsafe { fork() };
    if child == 0 {
        let is_wiped = process.header().is_none() && process.session().is_none();
        let is_another = process.attach() && process.stamp() == stamp + 1;
        let again = ThreadState::attach(state, process);
        if let Some(again) = again {
            // SAFETY: the child's only thread.
            unsafe { &mut *again }.ring.push(encode(free(2)), process);
        }
        // SAFETY: ends the child.
        unsafe { _exit(i32::from(!(is_wiped && is_another && again == Some(state)))) };
    }
    let mut status = -1;
    // SAFETY: waits for the child.
    assert_eq!((unsafe { waitpid(child, &raw mut status, 0) }, status), (child, 0));
    let forked = session.newest();
    assert_ne!(forked, parent);
    assert_eq!(session.word(forked + offset_of!(ProcessHeader, forked_from) as u64), parent);
    let ring = session.word(forked + offset_of!(ProcessHeader, rings) as u64);
    assert_eq!(decode(&[session.word(ring + RING_DATA_OFFSET)]), Some((free(2), 1)));
    assert_eq!(session.events(process, 0), [free(1)], "nothing was written to the parent's ring");
    assert_eq!(process.header().expect("it is there").exiting.load(Ordering::Relaxed), exit_state::RUNNING);
}
