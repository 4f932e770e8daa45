//! One recorded process, as it is seen from outside.

use crate::arenas::Arenas;
use crate::encode::Buffers;
use crate::looks::Looks;
use crate::residency::Subject;
use crate::ring::Ring;
use crate::session::Session;
use crate::sys;
use heapwise_trace::event::Epoch;
use heapwise_trace::file::pages::{Reason, Snapshot};
use heapwise_trace::file::records::{
    ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, ThreadEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{MarkNames, Nodes};
use heapwise_trace::live::layout::{
    ALLOCATOR_BYTES, ARENA_BYTES, BUILD_ID_BYTES, COMMAND_BYTES, MARK_LOG_BYTES, MAX_ARENAS, MAX_MARK_NAMES,
    MAX_NODE_CHUNKS, MAX_RINGS, MODULE_LOG_BYTES, MODULE_RECORD_HEADER, NODES_PER_CHUNK, NodeRecord,
    ProcessHeader, RING_DATA_OFFSET, RingHeader, exit_state, ring_state,
};
use heapwise_trace::live::marks;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What draining a process yields besides events.
#[derive(Debug, Default)]
pub struct News {
    /// Threads that made their first event.
    pub threads: Vec<ThreadInfo>,
    /// Threads that are gone.
    pub thread_ends: Vec<ThreadEnd>,
    /// Modules that occur for the first time.
    pub modules: Vec<ModuleInfo>,
    /// Nodes that are new.
    pub nodes: Vec<Nodes>,
    /// Names of marks that are new.
    pub mark_names: Vec<MarkNames>,
}

/// One recorded process.
#[derive(Debug)]
pub struct Process {
    /// Where its header lies in the session.
    pub offset: u64,
    /// Facts about it.
    pub info: ProcessInfo,
    arenas: Arenas,
    rings: Vec<Ring>,
    /// Whether the file knows about it.
    described: bool,
    /// The program file, as far as it could be found out.
    pub executable: Option<std::path::PathBuf>,

    modules_read: usize,
    /// Bytes of the log of names of marks, and names.
    marks_read: (usize, usize),
    nodes_read: u32,
    /// How often an unpublished node has held up the reading of nodes.
    nodes_waited: u32,
    checks: u32,
    looks: Looks,
}

/// Unpublished nodes are waited for this many times; then their thread must have been killed in between.
const NODE_PATIENCE: u32 = 50;

fn text(bytes: &[AtomicU8], len: usize) -> Vec<u8> {
    bytes.iter().take(len).map(|b| b.load(Ordering::Relaxed)).collect()
}

impl Process {
    /// Maps a process that has joined. `known` finds the index of the process with a header at an offset.
    pub fn new(
        session: &Session,
        offset: u64,
        index: ProcessIndex,
        known: impl Fn(u64) -> Option<ProcessIndex>,
    ) -> std::io::Result<Self> {
        let mapping = session.map(offset, ARENA_BYTES as usize)?;
        let arenas = Arenas { mapped: vec![(offset, mapping)] };
        let header: &ProcessHeader = arenas.get(offset).expect("an arena holds a process header");
        let command_len = (header.command_len.load(Ordering::Relaxed) as usize).min(COMMAND_BYTES);
        let command = text(&header.command, command_len);
        let arguments = command.strip_suffix(b"\0").unwrap_or(&command).split(|&b| b == 0);
        let info = ProcessInfo {
            index,
            pid: header.pid.load(Ordering::Relaxed),
            parent_pid: header.parent_pid.load(Ordering::Relaxed),
            forked_from: known(header.forked_from.load(Ordering::Relaxed)),
            command: arguments.map(|a| String::from_utf8_lossy(a).into_owned()).collect(),
            allocator: String::new(),
            start_epoch: Epoch(header.start_epoch.load(Ordering::Relaxed)),
            environment_findings: Vec::new(),
        };
        let executable = std::fs::read_link(format!("/proc/{}/exe", info.pid)).ok();
        Ok(Self {
            offset,
            info,
            arenas,
            rings: Vec::new(),
            described: false,
            executable,
            modules_read: 0,
            marks_read: (0, 0),
            nodes_read: 1,
            nodes_waited: 0,
            checks: 0,
            looks: Looks::default(),
        })
    }

    /// Facts about the process, with what it learned about itself after it had joined.
    /// `None` if it was described before.
    pub fn describe(&mut self) -> Option<ProcessInfo> {
        if std::mem::replace(&mut self.described, true) {
            return None;
        }
        let header = self.header();
        let len = (header.allocator_len.load(Ordering::Acquire) as usize).min(ALLOCATOR_BYTES);
        self.info.allocator = String::from_utf8_lossy(&text(&header.allocator, len)).into_owned();
        Some(self.info.clone())
    }

    fn header(&self) -> &ProcessHeader {
        self.arenas.get(self.offset).expect("mapped when the process was found")
    }

    /// Offset of the header of the process that joined before this one.
    pub fn previous(&self) -> u64 {
        self.header().previous.load(Ordering::Relaxed)
    }

    fn map_new_arenas(&mut self, session: &Session) {
        while self.arenas.mapped.len() < MAX_ARENAS {
            let next = self.header().arenas[self.arenas.mapped.len()].load(Ordering::Acquire);
            if next == 0 {
                return;
            }
            match session.map(next, ARENA_BYTES as usize) {
                Ok(mapping) => self.arenas.mapped.push((next, mapping)),
                Err(_) => return,
            }
        }
    }

    /// Copies everything out of the rings that is in them. Returns how many bytes that was.
    pub fn drain(&mut self, session: &Session, next_thread: &mut u32, news: &mut News) -> usize {
        self.map_new_arenas(session);
        let count = (self.header().ring_count.load(Ordering::Acquire) as usize).min(MAX_RINGS);
        for index in self.rings.len()..count {
            let offset = self.header().rings[index].load(Ordering::Relaxed);
            self.rings.push(Ring::new(offset));
        }
        let process = self.info.index;
        self.rings.iter_mut().map(|ring| ring.drain(&self.arenas, process, next_thread, news)).sum()
    }

    /// Takes the drained words, thread by thread.
    pub fn take_pending(&mut self, buffers: &Buffers) -> impl Iterator<Item = (ThreadIndex, Vec<u64>)> {
        self.rings.iter_mut().filter_map(|ring| {
            let thread = ring.thread.filter(|_| !ring.pending.is_empty())?;
            Some((thread, std::mem::replace(&mut ring.pending, buffers.take())))
        })
    }

    /// Reads modules, names of marks and nodes that are new. Every node and name that occurs in events drained before is among them.
    pub fn read_tables(&mut self, news: &mut News, at_end: bool) {
        self.read_modules(news);
        self.read_mark_names(news);
        self.read_nodes(news, at_end);
    }

    fn read_modules(&mut self, news: &mut News) {
        let len = (self.header().module_log_len.load(Ordering::Acquire) as usize).min(MODULE_LOG_BYTES);
        if len <= self.modules_read {
            return;
        }
        let log = self.header().module_log.load(Ordering::Acquire);
        let bytes = self
            .arenas
            .find(log)
            .and_then(|(mapping, at)| mapping.copy_bytes(at + self.modules_read, len - self.modules_read));
        let mut rest = bytes.as_deref().unwrap_or(&[]);
        while let Some((module, used)) = module_record(rest, self.info.index) {
            news.modules.push(module);
            rest = &rest[used..];
        }
        self.modules_read = len;
    }

    fn read_mark_names(&mut self, news: &mut News) {
        let (from, known) = self.marks_read;
        let len = (self.header().mark_log_len.load(Ordering::Acquire) as usize).min(MARK_LOG_BYTES);
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

    fn read_nodes(&mut self, news: &mut News, at_end: bool) {
        let count = self.header().node_count.load(Ordering::Acquire);
        let count = count.min(MAX_NODE_CHUNKS as u32 * NODES_PER_CHUNK);
        let mut nodes = Vec::new();
        let first_id = self.nodes_read;
        for id in first_id..count {
            let chunk = self.header().node_chunks[(id / NODES_PER_CHUNK) as usize].load(Ordering::Acquire);
            let at = chunk + u64::from(id % NODES_PER_CHUNK) * size_of::<NodeRecord>() as u64;
            let record = if chunk == 0 { None } else { self.arenas.get::<NodeRecord>(at) };
            let key = record.map_or(0, |r| r.key.load(Ordering::Acquire));
            if key == 0 && !at_end && self.nodes_waited < NODE_PATIENCE {
                self.nodes_waited += 1;
                break;
            }
            self.nodes_waited = 0;
            nodes.push((record.map_or(0, |r| r.parent.load(Ordering::Relaxed)), key));
            self.nodes_read = id + 1;
        }
        if !nodes.is_empty() {
            news.nodes.push(Nodes { process: self.info.index, first_id, nodes });
        }
    }

    /// Looks which threads are gone, and frees their rings. Call it now and then.
    pub fn check_threads(&mut self, session: &Session, next_thread: &mut u32, news: &mut News) {
        self.checks += 1;
        let pid = self.info.pid;
        let process = self.info.index;
        let rename = self.checks.is_multiple_of(8);
        for ring in &mut self.rings {
            let Some(header) = self.arenas.get::<RingHeader>(ring.offset) else { continue };
            if ring.thread.is_none() || header.state.load(Ordering::Acquire) != ring_state::OWNED {
                continue;
            }
            if sys::thread_is_gone(pid, ring.tid) {
                // What it wrote before it went is there now.
                ring.drain(&self.arenas, process, next_thread, news);
                ring.finish(header, session.epoch(), news);
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
        for ring in &mut self.rings {
            if let Some(header) = self.arenas.get::<RingHeader>(ring.offset)
                && ring.thread.is_some()
            {
                ring.finish(header, session.epoch(), news);
            }
        }
        let header = self.header();
        let sum = |count: fn(&RingHeader) -> &AtomicU64| -> u64 {
            let rings = self.rings.iter().filter_map(|ring| self.arenas.get::<RingHeader>(ring.offset));
            rings.map(|ring| count(ring).load(Ordering::Relaxed)).sum()
        };
        ProcessEnd {
            index: self.info.index,
            epoch: session.epoch(),
            still_running,
            lost_events: sum(|ring| &ring.lost_events) + header.lost_events.load(Ordering::Relaxed),
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
        let rings =
            self.rings.iter().filter_map(|ring| self.arenas.get::<RingHeader>(ring.offset)).map(|ring| {
                ring.head.load(Ordering::Relaxed).min(ring.capacity.load(Ordering::Relaxed))
                    + RING_DATA_OFFSET
            });
        let nodes = u64::from(self.header().node_count.load(Ordering::Relaxed)) * 24;
        let names = u64::from(self.header().mark_log_len.load(Ordering::Relaxed));
        rings.sum::<u64>() + nodes + names + size_of::<ProcessHeader>() as u64
    }

    /// Whether the process waits for a last look at its pages.
    pub fn says_farewell(&self) -> bool {
        self.header().exiting.load(Ordering::Acquire) == exit_state::ANNOUNCED
    }

    /// Whether it is time to look at the pages, and why.
    pub fn look_is_due(&self, now: Duration, rss_bytes: u64) -> Option<Reason> {
        self.looks.due(now, rss_bytes)
    }

    /// Looks at the pages. `None` if they could not be seen.
    pub fn look(
        &mut self,
        session: &Session,
        started: Instant,
        page_bytes: u64,
        reason: Reason,
    ) -> Option<(Epoch, Snapshot)> {
        let farewell = self.says_farewell();
        let rings = self.rings.iter().filter(|ring| ring.thread.is_some());
        let (mut thread_pointers, mut recorder) = (Vec::new(), Vec::new());
        for (ring, header) in rings.filter_map(|r| Some((r, self.arenas.get::<RingHeader>(r.offset)?))) {
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
            session_inode: session.inode(),
            page_bytes,
        };
        let before = started.elapsed();
        // Everything that a thread says from here on belongs to this epoch or a later one.
        let epoch = session.tick();
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

    /// Gives the process's shared memory back. Nobody may use it any more.
    pub fn release(self, session: &Session) {
        for (offset, _) in &self.arenas.mapped {
            session.release(*offset, ARENA_BYTES);
        }
    }
}

/// Parses a record of the module log; see [`MODULE_RECORD_HEADER`].
fn module_record(bytes: &[u8], process: ProcessIndex) -> Option<(ModuleInfo, usize)> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let long = |at: usize| Some(u64::from(word(at)?) | u64::from(word(at + 4)?) << 32);
    let len = word(0)? as usize;
    let build_id_len = (word(32)? as usize).min(BUILD_ID_BYTES);
    let path_len = word(36)? as usize;
    let build_id = bytes.get(40..40 + build_id_len)?;
    let path = bytes.get(MODULE_RECORD_HEADER..MODULE_RECORD_HEADER + path_len)?;
    if len < MODULE_RECORD_HEADER || len > bytes.len() {
        return None;
    }
    let module = ModuleInfo {
        process,
        generation: word(4)?,
        start: long(8)?,
        end: long(16)?,
        bias: long(24)?,
        build_id: build_id.iter().map(|b| format!("{b:02x}")).collect(),
        path: String::from_utf8_lossy(path).into_owned(),
    };
    Some((module, len))
}
