//! A process that is made up, and what is read of it.

use super::*;
use crate::session::Settings;
use heapwise_trace::live::layout::{
    ARENA_BYTES, NodeRecord, RING_DATA_OFFSET, RingHeader, SESSION_HEADER_BYTES, ring_capacity,
};

/// Where things lie in the arena of the made-up process.
const RING: u64 = SESSION_HEADER_BYTES + (1 << 20);
const NODES: u64 = SESSION_HEADER_BYTES + (8 << 20);

/// A session in which this process has joined, with one ring and one chunk of nodes, and the collector's view of it.
struct Joined {
    session: Session,
    process: Process,
    claims: Claims,
    started: Started,
    refusals: Refusals,
}

impl Joined {
    fn new() -> Self {
        let session = Session::new(Settings::default()).expect("shared memory");
        let first = distrust::arena(SESSION_HEADER_BYTES).expect("the first arena");
        let index = ProcessIndex(0);
        let who = (std::process::id(), Standing::Proven);
        let mut refusals = Refusals::default();
        let process = Process::new(&session, first.clone(), who, index, |_| None, &mut refusals);
        let process = process.expect("it is mapped");
        let header = process.header();
        header.arenas[0].store(first.start, Ordering::Relaxed);
        let ring: &RingHeader = process.arenas.get(RING).expect("it is mapped");
        ring.capacity.store(ring_capacity(0), Ordering::Relaxed);
        header.rings[0].store(RING, Ordering::Relaxed);
        header.ring_count.store(1, Ordering::Relaxed);
        header.node_chunks[0].store(NODES, Ordering::Relaxed);
        header.node_count.store(3, Ordering::Relaxed);
        let mut started = Started::new(None);
        started.add(1);
        Self { session, process, claims: Claims::default(), started, refusals }
    }

    fn drain(&mut self, news: &mut News) -> usize {
        let mut common = Common {
            session: &self.session,
            claims: &mut self.claims,
            started: &mut self.started,
            refusals: &mut self.refusals,
        };
        let (bytes, has_left) = self.process.drain(&mut common, usize::MAX, news);
        assert!(!has_left, "there was room for all");
        bytes
    }

    fn read_nodes(&mut self, news: &mut News) -> bool {
        let mut common = Common {
            session: &self.session,
            claims: &mut self.claims,
            started: &mut self.started,
            refusals: &mut self.refusals,
        };
        self.process.read_tables(&mut common, news, true)
    }

    fn ring(&self) -> &RingHeader {
        self.process.arenas.get(RING).expect("it is mapped")
    }

    fn refused(self) -> Vec<String> {
        self.refusals.into_records().into_iter().map(|refusal| refusal.what).collect()
    }
}

#[test]
fn a_ring_is_drained_once_and_a_head_that_cannot_be_ends_it() {
    let (mut joined, mut news) = (Joined::new(), News::default());
    joined.ring().incarnation.store(1, Ordering::Relaxed);
    joined.ring().head.store(64, Ordering::Release);
    assert_eq!((joined.drain(&mut news), news.threads.len()), (64, 1));
    assert_eq!(joined.ring().tail.0.load(Ordering::Relaxed), 64);
    // The tail in the shared memory is ignored.
    joined.ring().tail.0.store(0, Ordering::Relaxed);
    assert_eq!(joined.drain(&mut news), 0);
    joined.ring().head.store(64 + ring_capacity(0) + 8, Ordering::Release);
    assert_eq!(joined.drain(&mut news), 0);
    joined.ring().head.store(128, Ordering::Release);
    assert_eq!(joined.drain(&mut news), 0, "it is not looked at again");
    assert_eq!(joined.refused(), ["a ring of events"]);
}

#[test]
fn a_ring_changes_its_thread_when_it_is_free_and_not_before() {
    let (mut joined, mut news) = (Joined::new(), News::default());
    for incarnation in 1..1000 {
        joined.ring().incarnation.store(incarnation, Ordering::Relaxed);
        joined.drain(&mut news);
    }
    assert_eq!(news.threads.len(), 1);
    assert_eq!(joined.refused(), ["a ring of events"]);
}

#[test]
fn rings_that_overlap_or_lie_outside_are_none() {
    let (mut joined, mut news) = (Joined::new(), News::default());
    let end = SESSION_HEADER_BYTES + ARENA_BYTES;
    let places =
        [RING, RING + 64, SESSION_HEADER_BYTES, end - 4096, end, 0, u64::MAX - 7, RING - RING_DATA_OFFSET];
    let header = joined.process.header();
    for (i, place) in places.iter().enumerate() {
        header.rings[i + 1].store(*place, Ordering::Relaxed);
        // What it says of itself is right where there is room for it, so that the place alone is what is wrong.
        if let Some(ring) = joined.process.arenas.get::<RingHeader>(*place)
            && ![RING, SESSION_HEADER_BYTES].contains(place)
        {
            ring.capacity.store(4096, Ordering::Relaxed);
        }
    }
    header.ring_count.store(u32::MAX, Ordering::Relaxed);
    joined.drain(&mut news);
    assert_eq!(joined.process.rings.len(), MAX_RINGS);
    let good = joined.process.rings.iter().filter(|ring| ring.header(&joined.process.arenas).is_some());
    assert_eq!(good.count(), 1);
    assert_eq!(joined.process.own_bytes(), RING_DATA_OFFSET + 24 + size_of::<ProcessHeader>() as u64);
}

#[test]
fn nodes_are_read_where_they_are_and_never_more_than_were_written() {
    let (mut joined, mut news) = (Joined::new(), News::default());
    for id in 1..3 {
        let record: &NodeRecord = joined.process.arenas.get(NODES + id * 16).expect("it is mapped");
        record.key.store(id, Ordering::Release);
    }
    assert!(joined.read_nodes(&mut news));
    assert_eq!(news.nodes[0].nodes, [(0, 1), (0, 2)]);
    // All chunks are the first one.
    let header = joined.process.header();
    header.node_chunks[1..].iter().for_each(|chunk| chunk.store(NODES, Ordering::Relaxed));
    header.node_count.store(u32::MAX, Ordering::Relaxed);
    assert!(joined.read_nodes(&mut news));
    assert!(news.node_count() <= MAX_RINGS + 3, "{}", news.node_count());
    assert_eq!(joined.refused(), ["nodes of stacks"]);
}

#[test]
fn arenas_of_others_and_places_that_are_none_are_not_taken() {
    for offset in [SESSION_HEADER_BYTES, SESSION_HEADER_BYTES + ARENA_BYTES, 4096, u64::MAX] {
        let (mut joined, mut news) = (Joined::new(), News::default());
        joined.process.header().arenas[1].store(offset, Ordering::Relaxed);
        joined.drain(&mut news);
        assert_eq!(joined.process.arenas.len(), 1, "{offset:#x}");
        assert_eq!(joined.refused(), ["memory of a process"], "{offset:#x}");
    }
    let (mut joined, mut news) = (Joined::new(), News::default());
    let second = SESSION_HEADER_BYTES + ARENA_BYTES;
    let _mapped = joined.session.map(second).expect("this process maps it");
    joined.claims.take(&(second..second + ARENA_BYTES), second);
    joined.process.header().arenas[1].store(second, Ordering::Relaxed);
    joined.drain(&mut news);
    assert_eq!(joined.process.arenas.len(), 1, "another process has joined there");
}

#[test]
fn a_process_that_is_about_to_end_is_let_go_once() {
    let mut joined = Joined::new();
    let process = &mut joined.process;
    assert!(!process.is_ending() && !process.waits_for_exit_snapshot());
    process.header().exiting.store(exit_state::ANNOUNCED, Ordering::Relaxed);
    assert!(process.is_ending() && process.waits_for_exit_snapshot());
    process.let_go();
    assert_eq!(process.header().exiting.load(Ordering::Relaxed), exit_state::SEEN);
    assert!(process.is_ending() && !process.waits_for_exit_snapshot());
}
