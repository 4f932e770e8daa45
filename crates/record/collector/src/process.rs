//! One recorded process, as it is seen from outside.

use crate::arenas::Arenas;
use crate::claims::Claims;
use crate::distrust::{self, Started};
use crate::encode::Buffers;
use crate::joins::{Mapped, Standing};
use crate::news::News;
use crate::refusals::{Refusals, Refused};
use crate::residency::Subject;
use crate::ring::{Drain, Ring};
use crate::session::Session;
use crate::snapshots::Looks;
use crate::sys;
use heapwise_trace::event::Epoch;
use heapwise_trace::file::pages::{Reason, Snapshot};
use heapwise_trace::file::records::{ProcessEnd, ProcessIndex, ProcessInfo, ThreadIndex};
use heapwise_trace::file::tables::{MarkNames, Nodes};
use heapwise_trace::live::layout::{
    MARK_LOG_BYTES, MAX_ARENAS, MAX_MARK_NAMES, MAX_NODE_CHUNKS, MAX_RINGS, MODULE_LOG_BYTES,
    NODES_PER_CHUNK, NodeRecord, ProcessHeader, RingHeader, exit_state, ring_state,
};
use heapwise_trace::live::marks;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What all processes of a recording share. It is used to check what a process claims.
#[derive(Debug)]
pub(crate) struct Common<'a> {
    pub(crate) session: &'a Session,
    pub(crate) claims: &'a mut Claims,
    pub(crate) started: &'a mut Started,
    pub(crate) refusals: &'a mut Refusals,
}

/// One recorded process.
#[derive(Debug)]
pub struct Process {
    /// Facts about it.
    pub info: ProcessInfo,
    /// The program file, as far as it could be found out.
    pub executable: Option<std::path::PathBuf>,
    /// Where its header lies in the session, with the rest of its first arena.
    first: Range<u64>,
    standing: Standing,
    arenas: Arenas,
    /// Whether it has claimed what is not its: no further arena is looked at.
    arenas_refused: bool,
    rings: Vec<Ring>,
    /// Whether the file knows about it.
    described: bool,
    modules_read: usize,
    /// Bytes of the log of names of marks, and names.
    marks_read: (usize, usize),
    nodes: NodesRead,
    checks: u32,
    looks: Looks,
    /// Whether the snapshot was taken that the process requested at its end.
    took_leave: bool,
}

/// How far the nodes were read.
#[derive(Debug, Default)]
struct NodesRead {
    count: u32,
    /// How often an unpublished node has held up the reading.
    waited: u32,
    /// Unpublished nodes that were passed.
    missing: usize,
    /// Chunks that were checked to lie where chunks can be.
    chunks: Vec<u64>,
    /// Nothing is read any more.
    is_refused: bool,
}

/// Unpublished nodes are waited for this many times; then their thread must have been killed in between.
const NODE_PATIENCE: u32 = 50;
/// Nodes that are handed on at once. If there are more, events wait.
const MOST_NODES: usize = 1 << 18;
/// Arenas of a process that was gone when it was looked for: it cannot have lived for long.
const MOST_DEPARTED_ARENAS: usize = 4;

impl Process {
    /// Maps a process that has joined with the id `pid`. `known` finds the index of the process with a header at an offset.
    pub(crate) fn new(
        session: &Session,
        first: Range<u64>,
        (pid, standing): (u32, Standing),
        index: ProcessIndex,
        known: impl Fn(u64) -> Option<ProcessIndex>,
    ) -> std::io::Result<Self> {
        let mapping = session.map(first.start)?;
        let mut arenas = Arenas::new(first.clone(), mapping, standing.is_present());
        arenas.extents.take(first.start, size_of::<ProcessHeader>() as u64);
        let header: &ProcessHeader = arenas.get(first.start).expect("an arena holds a process header");
        let command = distrust::text(&header.command, &header.command_len);
        let arguments = command.strip_suffix('\0').unwrap_or(&command).split('\0');
        let info = ProcessInfo {
            index,
            pid,
            parent_pid: header.parent_pid.load(Ordering::Relaxed),
            forked_from: known(header.forked_from.load(Ordering::Relaxed)),
            command: arguments.map(str::to_owned).collect(),
            allocator: String::new(),
            start_epoch: Epoch(header.start_epoch.load(Ordering::Relaxed)),
            environment_findings: Vec::new(),
        };
        let executable = standing.is_present().then(|| std::fs::read_link(format!("/proc/{pid}/exe")).ok());
        Ok(Self {
            first,
            standing,
            info,
            arenas,
            arenas_refused: false,
            rings: Vec::new(),
            described: false,
            executable: executable.flatten(),
            modules_read: 0,
            marks_read: (0, 0),
            nodes: NodesRead { count: 1, ..NodesRead::default() },
            checks: 0,
            looks: Looks::default(),
            took_leave: false,
        })
    }

    /// The arena with its header.
    pub(crate) fn first(&self) -> &Range<u64> {
        &self.first
    }

    /// Whether it is there to be looked at.
    pub(crate) fn is_present(&self) -> bool {
        self.standing.is_present()
    }

    /// Whether the kernel confirms that the process is the one that it claims to be.
    pub(crate) fn is_proven(&self) -> bool {
        self.standing == Standing::Proven
    }

    /// What it calls its allocator by now.
    pub(crate) fn allocator(&self) -> String {
        distrust::text(&self.header().allocator, &self.header().allocator_len)
    }

    /// Facts about the process, with what it learned about itself after it had joined.
    /// `None` if it was described before.
    pub fn describe(&mut self) -> Option<ProcessInfo> {
        if std::mem::replace(&mut self.described, true) {
            return None;
        }
        self.info.allocator = self.allocator();
        Some(self.info.clone())
    }

    fn header(&self) -> &ProcessHeader {
        self.arenas.get(self.first.start).expect("mapped when the process was found")
    }

    fn map_new_arenas(&mut self, common: &mut Common<'_>) {
        let most = if self.is_present() { MAX_ARENAS } else { MOST_DEPARTED_ARENAS };
        while self.arenas.len() < most && !self.arenas_refused {
            let next = self.header().arenas[self.arenas.len()].load(Ordering::Acquire);
            if next == 0 {
                return;
            }
            let who = (self.info.pid, self.standing);
            if let Err(why) = self.arenas.add(next, who, common.session, common.claims) {
                self.arenas_refused = true;
                common.refusals.note(Refused::Arena, || why);
            }
        }
    }

    /// Copies what is in the rings out of them, as far as there is room. Returns how many bytes that was.
    pub(crate) fn drain(&mut self, common: &mut Common<'_>, room: usize, news: &mut News) -> usize {
        let count = distrust::at_most(&self.header().ring_count, MAX_RINGS);
        // After the count: the arenas of these rings are there now.
        self.map_new_arenas(common);
        for index in self.rings.len()..count {
            let offset = self.header().rings[index].load(Ordering::Relaxed);
            self.rings.push(Ring::new(index, offset, &mut self.arenas, common.refusals));
        }
        let mut drain = Drain {
            session: common.session,
            process: self.info.index,
            writes: self.is_present(),
            room,
            started: common.started,
            refusals: common.refusals,
            news,
        };
        self.rings.iter_mut().map(|ring| ring.drain(&self.arenas, &mut drain)).sum()
    }

    /// Bytes that were drained and not handed on.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.rings.iter().map(|ring| ring.pending.len() * 8).sum()
    }

    /// Takes the drained words, thread by thread.
    pub fn take_pending(&mut self, buffers: &Buffers) -> impl Iterator<Item = (ThreadIndex, Vec<u64>)> {
        self.rings.iter_mut().filter_map(|ring| {
            let thread = ring.thread.filter(|_| !ring.pending.is_empty())?;
            Some((thread, std::mem::replace(&mut ring.pending, buffers.take())))
        })
    }

    /// Reads modules, names of marks and nodes that are new. If all of them were read, which is the result, every node and name
    /// that occurs in events drained before is among them.
    pub(crate) fn read_tables(&mut self, common: &mut Common<'_>, news: &mut News, at_end: bool) -> bool {
        self.read_modules(news);
        self.read_mark_names(news);
        self.read_nodes(common, news, at_end)
    }

    fn read_modules(&mut self, news: &mut News) {
        let len = distrust::at_most(&self.header().module_log_len, MODULE_LOG_BYTES);
        if len <= self.modules_read {
            return;
        }
        let log = self.header().module_log.load(Ordering::Acquire);
        let bytes = self
            .arenas
            .find(log)
            .and_then(|(mapping, at)| mapping.copy_bytes(at + self.modules_read, len - self.modules_read));
        let mut rest = bytes.as_deref().unwrap_or(&[]);
        while let Some((module, used)) = distrust::module_record(rest, self.info.index) {
            news.modules.push(module);
            rest = &rest[used..];
        }
        self.modules_read = len;
    }

    fn read_mark_names(&mut self, news: &mut News) {
        let (from, known) = self.marks_read;
        let len = distrust::at_most(&self.header().mark_log_len, MARK_LOG_BYTES);
        if len <= from {
            return;
        }
        let log = self.header().mark_log.load(Ordering::Acquire);
        // It may lie in an arena that is not mapped yet: then it is read the next time.
        let place = self.arenas.find(log);
        let Some(bytes) = place.and_then(|(mapping, at)| mapping.copy_bytes(at + from, len - from)) else {
            return;
        };
        let mut rest = bytes.as_slice();
        let mut names = Vec::new();
        while let Some((name, used)) = marks::name_at(rest)
            && known + names.len() < MAX_MARK_NAMES
        {
            names.push(String::from_utf8_lossy(name).into_owned());
            rest = &rest[used..];
        }
        self.marks_read = (len - rest.len(), known + names.len());
        if !names.is_empty() {
            let first_id = marks::id_of(known).0;
            news.mark_names.push(MarkNames { process: self.info.index, first_id, names });
        }
    }

    fn read_nodes(&mut self, common: &mut Common<'_>, news: &mut News, at_end: bool) -> bool {
        let most = MAX_NODE_CHUNKS * NODES_PER_CHUNK as usize;
        let count = distrust::at_most(&self.header().node_count, most) as u32;
        let room = MOST_NODES.saturating_sub(news.node_count());
        let first_id = self.nodes.count;
        let mut nodes = Vec::new();
        let mut is_waiting = false;
        while self.nodes.count < count && nodes.len() < room && !self.nodes.is_refused && !is_waiting {
            let id = self.nodes.count;
            let (key, parent) = self.node(id, common).unwrap_or_default();
            is_waiting = key == 0 && !at_end && self.nodes.waited < NODE_PATIENCE;
            if is_waiting {
                self.nodes.waited += 1;
            } else {
                self.note_node(key, common.refusals);
                nodes.push((parent, key));
                self.nodes.count = id + 1;
            }
        }
        if !nodes.is_empty() {
            news.nodes.push(Nodes { process: self.info.index, first_id, nodes });
        }
        self.nodes.count >= count || self.nodes.is_refused || is_waiting
    }

    /// A killed thread can leave one node that was never written. More such nodes than there can be threads are an
    /// error.
    fn note_node(&mut self, key: u64, refusals: &mut Refusals) {
        self.nodes.waited = 0;
        self.nodes.missing += usize::from(key == 0);
        if self.nodes.missing > MAX_RINGS {
            self.nodes.is_refused = true;
            let pid = self.info.pid;
            refusals.note(Refused::Nodes, || format!("process {pid} counts nodes that it has not written"));
        }
    }

    /// Key and parent of a node; `None` if its chunk is not there.
    fn node(&mut self, id: u32, common: &mut Common<'_>) -> Option<(u64, u32)> {
        let chunk = (id / NODES_PER_CHUNK) as usize;
        if self.nodes.chunks.len() == chunk {
            let bytes = u64::from(NODES_PER_CHUNK) * size_of::<NodeRecord>() as u64;
            let offset = self.header().node_chunks[chunk].load(Ordering::Acquire);
            if offset == 0 {
                return None;
            }
            if !self.arenas.holds(offset, bytes) {
                self.map_new_arenas(common);
            }
            if !self.arenas.holds(offset, bytes) || !self.arenas.extents.take(offset, bytes) {
                self.nodes.is_refused = true;
                let pid = self.info.pid;
                common.refusals.note(Refused::Nodes, || format!("process {pid} has none at {offset:#x}"));
                return None;
            }
            self.nodes.chunks.push(offset);
        }
        let at =
            self.nodes.chunks.get(chunk)? + u64::from(id % NODES_PER_CHUNK) * size_of::<NodeRecord>() as u64;
        let record = self.arenas.get::<NodeRecord>(at)?;
        Some((record.key.load(Ordering::Acquire), record.parent.load(Ordering::Relaxed)))
    }

    /// Checks which threads are gone, and frees their rings. To be called periodically.
    pub(crate) fn check_threads(&mut self, common: &mut Common<'_>, news: &mut News) {
        self.checks = self.checks.wrapping_add(1);
        let pid = self.info.pid;
        let rename = self.checks.is_multiple_of(8);
        let session = common.session;
        let mut drain = Drain {
            session,
            process: self.info.index,
            writes: self.is_present(),
            room: usize::MAX,
            started: common.started,
            refusals: common.refusals,
            news,
        };
        for ring in &mut self.rings {
            let Some(header) = ring.header(&self.arenas) else { continue };
            if ring.thread.is_none() || header.state.load(Ordering::Acquire) != ring_state::OWNED {
                continue;
            }
            if sys::thread_is_gone(pid, ring.tid) {
                // What it wrote before it went is there now.
                ring.drain(&self.arenas, &mut drain);
                ring.finish(header, session.epoch(), drain.writes, drain.news);
                continue;
            }
            ring.idle_checks += 1;
            if rename || ring.idle_checks == 1 {
                ring.update_name(pid);
            }
        }
    }

    /// Ends all threads and says what is left to say about the process.
    pub fn end(&mut self, session: &Session, still_running: bool, news: &mut News) -> ProcessEnd {
        let writes = self.is_present();
        for ring in &mut self.rings {
            if let Some(header) = ring.header(&self.arenas)
                && ring.thread.is_some()
            {
                ring.finish(header, session.epoch(), writes, news);
            }
        }
        let header = self.header();
        let sum = |count: fn(&RingHeader) -> &AtomicU64| -> u64 {
            let rings = self.rings.iter().filter_map(|ring| ring.header(&self.arenas));
            rings.map(|ring| count(ring).load(Ordering::Relaxed)).fold(0, u64::saturating_add)
        };
        ProcessEnd {
            index: self.info.index,
            epoch: session.epoch(),
            still_running,
            lost_events: sum(|ring| &ring.lost_events)
                .saturating_add(header.lost_events.load(Ordering::Relaxed)),
            verified: header.verified.load(Ordering::Relaxed),
            verify_failed: header.verify_failed.load(Ordering::Relaxed),
            no_clock: header.no_clock.load(Ordering::Relaxed) != 0,
        }
    }

    /// Whether it never allocated through us: its trie has nothing but the two roots of the first generation.
    pub fn is_silent(&self) -> bool {
        const RESERVED_AND_ROOTS: u32 = 3;
        self.header().node_count.load(Ordering::Relaxed) <= RESERVED_AND_ROOTS
    }

    /// Where the last comparison with a full unwind failed.
    pub fn verify_failed_at(&self) -> u64 {
        self.header().verify_failed_at.load(Ordering::Relaxed)
    }

    /// Bytes of shared memory that the process has touched for the recorder's sake, as far as it is known.
    pub fn own_bytes(&self) -> u64 {
        let rings = self.rings.iter().map(Ring::touched_bytes).sum::<u64>();
        let nodes = u64::from(self.nodes.count) * 24;
        let names = self.marks_read.0 as u64;
        rings + nodes + names + size_of::<ProcessHeader>() as u64
    }

    /// Whether the process waits for a last snapshot of its pages, which is then due.
    pub fn says_farewell(&self) -> bool {
        let announced = self.header().exiting.load(Ordering::Acquire) == exit_state::ANNOUNCED;
        announced && !self.took_leave && self.is_present()
    }

    /// Whether a snapshot of the pages is due, and why.
    pub fn look_is_due(&self, now: Duration, rss_bytes: u64) -> Option<Reason> {
        self.looks.due(now, rss_bytes)
    }

    /// Takes a snapshot of the pages. `None` if they could not be read.
    pub fn look(
        &mut self,
        session: &Session,
        started: Instant,
        page_bytes: u64,
        reason: Reason,
    ) -> Option<(Epoch, Snapshot)> {
        // Another program may have been executed in it, which is not recorded.
        if !self.is_present() || Mapped::of(self.info.pid, &session.memory()).has(&self.first) == Some(false)
        {
            return None;
        }
        let farewell = self.says_farewell();
        self.took_leave |= farewell;
        let rings = self.rings.iter().filter(|ring| ring.thread.is_some());
        let (mut thread_pointers, mut recorder) = (Vec::new(), Vec::new());
        for (ring, header) in rings.filter_map(|r| Some((r, r.header(&self.arenas)?))) {
            let state = header.private_state.load(Ordering::Relaxed);
            recorder.push(state..state.saturating_add(header.private_bytes.load(Ordering::Relaxed)));
            if ring.tid != self.info.pid {
                thread_pointers.push(header.handle.load(Ordering::Relaxed));
            }
        }
        let mapped = self.header().allocator_mappings.iter().filter_map(|[start, len]| {
            let len = len.load(Ordering::Acquire);
            let start = start.load(Ordering::Relaxed);
            (len != 0).then(|| start..start.saturating_add(len))
        });
        let allocator: Vec<_> = mapped.collect();
        let subject = Subject {
            pid: self.info.pid,
            process: self.info.index,
            thread_pointers: &thread_pointers,
            recorder: &recorder,
            allocator: &allocator,
            session_inode: session.memory().inode(),
            page_bytes,
        };
        let before = started.elapsed();
        // Everything that a thread says from here on belongs to this epoch or a later one.
        let (epoch, _) = session.tick();
        let snapshot = subject.snapshot(epoch, before.as_nanos() as u64, reason).ok();
        let rss_bytes = snapshot.as_ref().map_or(0, |s| s.rss_bytes);
        self.looks.took(before, started.elapsed().saturating_sub(before), rss_bytes);
        if farewell {
            let exiting = &self.header().exiting;
            let (from, to) = (exit_state::ANNOUNCED, exit_state::SEEN);
            let in_time = exiting.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            sys::futex_wake(exiting.as_ptr());
            if !in_time {
                return None;
            }
        }
        Some((epoch, snapshot?))
    }

    /// Releases the process's shared memory, as far as it surely belongs to it: no process may use that any more. The rest
    /// is left to be released later.
    pub(crate) fn release(self, session: &Session, claims: &mut Claims, now: Duration) {
        for (range, is_its_own) in self.arenas.into_ranges() {
            match self.standing {
                Standing::Proven if is_its_own => session.release(range),
                // It may still be there, and use it.
                Standing::Likely => {}
                Standing::Proven | Standing::Departed => claims.leave(now, range),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Settings;
    use heapwise_trace::live::layout::{ARENA_BYTES, RING_DATA_OFFSET, SESSION_HEADER_BYTES, ring_capacity};

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
            let process = Process::new(&session, first.clone(), who, index, |_| None).expect("it is mapped");
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
            Self { session, process, claims: Claims::default(), started, refusals: Refusals::default() }
        }

        fn drain(&mut self, news: &mut News) -> usize {
            let mut common = Common {
                session: &self.session,
                claims: &mut self.claims,
                started: &mut self.started,
                refusals: &mut self.refusals,
            };
            self.process.drain(&mut common, usize::MAX, news)
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
        let places = [
            RING,
            RING + 64,
            SESSION_HEADER_BYTES,
            end - 4096,
            end,
            0,
            u64::MAX - 7,
            RING - RING_DATA_OFFSET,
        ];
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
}
