//! One recorded process, as it is seen from outside.

mod tables;
#[cfg(test)]
mod tests;

use crate::arenas::Arenas;
use crate::buffers::Buffers;
use crate::claims::Claims;
use crate::distrust::{self, Started};
use crate::hooks::Hooks;
use crate::images::Images;
use crate::joins::{Mapped, Standing};
use crate::news::News;
use crate::refusals::{Refusals, Refused};
use crate::residency::Subject;
use crate::ring::{Drain, Ring};
use crate::session::Session;
use crate::snapshots::SnapshotPace;
use crate::sys;
use heapwise_trace::event::Epoch;
use heapwise_trace::file::pages::{Reason, Snapshot};
use heapwise_trace::file::records::{ProcessEnd, ProcessIndex, ProcessInfo, ThreadIndex};
use heapwise_trace::live::hooks::{Hook, SharedHook};
use heapwise_trace::live::layout::{MAX_ARENAS, MAX_RINGS, ProcessHeader, exit_state, ring_state};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tables::NodesRead;

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
    snapshot_pace: SnapshotPace,
    /// Thread pointers of all threads that were there when a snapshot was taken, the first few thousand of them.
    thread_pointers: BTreeSet<u64>,
    /// Whether the snapshot was taken that the process requested at its end.
    shook_hands: bool,
    pub(crate) hooks: Hooks,
    /// When it was found.
    pub(crate) joined_at: Instant,
    /// What earlier files of the recording say of it.
    reported: Counts,
}

/// Counts of a process that only grow.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    lost_events: u64,
    verified: u64,
    verify_failed: u64,
}

/// Thread pointers that are kept of a process, to tell stacks of threads that have ended.
const MOST_THREAD_POINTERS: usize = 4096;
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
        refusals: &mut Refusals,
    ) -> std::io::Result<Self> {
        let mapping = session.map(first.start)?;
        let mut arenas = Arenas::new(first.clone(), mapping, standing.is_present());
        arenas.extents.take(first.start, size_of::<ProcessHeader>() as u64);
        let header: &ProcessHeader = arenas.get(first.start).expect("an arena holds a process header");
        let command = distrust::text(&header.command, &header.command_len);
        let arguments = command.strip_suffix('\0').unwrap_or(&command).split('\0');
        let claimed = header.start_epoch.load(Ordering::Relaxed);
        let start_epoch = session.joined(claimed).unwrap_or_else(|now| {
            refusals.note(Refused::Join, || format!("process {pid} says that it joins in the future"));
            now
        });
        let info = ProcessInfo {
            index,
            pid,
            parent_pid: header.parent_pid.load(Ordering::Relaxed),
            forked_from: known(header.forked_from.load(Ordering::Relaxed)),
            command: arguments.map(str::to_owned).collect(),
            allocator: String::new(),
            by_name: String::new(),
            start_epoch,
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
            nodes: NodesRead::new(),
            checks: 0,
            snapshot_pace: SnapshotPace::default(),
            thread_pointers: BTreeSet::new(),
            shook_hands: false,
            hooks: Hooks::default(),
            joined_at: Instant::now(),
            reported: Counts::default(),
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

    /// What its allocator is called, as far as that is known: a child may have ended before its parent was described.
    pub(crate) fn allocator_now(&self) -> String {
        match self.described {
            true if !self.info.allocator.is_empty() => self.info.allocator.clone(),
            _ => self.own_allocator().unwrap_or_else(|| self.allocator()),
        }
    }

    /// The library that has its `malloc`: one that was entered, or else what the process says itself.
    pub(crate) fn allocator_library(&self) -> String {
        self.entered_library().unwrap_or_else(|| self.allocator())
    }

    /// Facts about the process, with what it learned about itself after it had joined.
    /// `None` if it was described before.
    pub fn describe(&mut self, of_parent: Option<&str>) -> Option<ProcessInfo> {
        if std::mem::replace(&mut self.described, true) {
            return None;
        }
        self.info.allocator = match of_parent {
            Some(of_parent) if !of_parent.is_empty() && self.own_allocator().is_none() => {
                of_parent.to_owned()
            }
            _ => self.allocator_now(),
        };
        self.info.by_name =
            Some(self.allocator_library()).filter(|path| *path != self.info.allocator).unwrap_or_default();
        Some(self.info.clone())
    }

    /// Writes a hook to the process's table. Returns whether there is such a place.
    pub(crate) fn map_hook(&self, index: usize, hook: &Hook) -> bool {
        let table = self.header().hook_table.load(Ordering::Acquire);
        let offset = table.saturating_add((index * size_of::<SharedHook>()) as u64);
        let shared = self.arenas.get::<SharedHook>(offset).filter(|_| table != 0);
        shared.inspect(|shared| shared.store(hook)).is_some()
    }

    pub(crate) fn header(&self) -> &ProcessHeader {
        self.arenas.get(self.first.start).expect("mapped when the process was found")
    }

    pub(crate) fn map_new_arenas(&mut self, common: &mut Common<'_>) {
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

    /// Finds the rings that its threads have made since it was asked last.
    pub(crate) fn find_rings(&mut self, common: &mut Common<'_>) {
        let count = distrust::at_most(&self.header().ring_count, MAX_RINGS);
        // After the count: the arenas of these rings are there now.
        self.map_new_arenas(common);
        for index in self.rings.len()..count {
            let offset = self.header().rings[index].load(Ordering::Relaxed);
            self.rings.push(Ring::new(index, offset, &mut self.arenas, common.refusals));
        }
    }

    /// Copies what is in the rings out of them, as far as there is room. Returns how many bytes that was, and whether
    /// something was left.
    pub(crate) fn drain(&mut self, common: &mut Common<'_>, room: usize, news: &mut News) -> (usize, bool) {
        self.find_rings(common);
        let mut drain = Drain {
            session: common.session,
            process: self.info.index,
            pid: self.info.pid,
            writes: self.is_present(),
            is_ending: self.is_ending(),
            room,
            has_left: false,
            started: common.started,
            refusals: common.refusals,
            news,
        };
        let bytes = self.rings.iter_mut().map(|ring| ring.drain(&self.arenas, &mut drain)).sum();
        (bytes, drain.has_left)
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

    /// Checks which threads are gone, and frees their rings. To be called periodically.
    pub(crate) fn check_threads(&mut self, common: &mut Common<'_>, news: &mut News) {
        self.checks = self.checks.wrapping_add(1);
        let pid = self.info.pid;
        let rename = self.checks.is_multiple_of(8);
        let session = common.session;
        let mut drain = Drain {
            session,
            process: self.info.index,
            pid: self.info.pid,
            writes: self.is_present(),
            is_ending: self.is_ending(),
            room: usize::MAX,
            has_left: false,
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
        self.so_far(session.epoch(), still_running)
    }

    /// What there is to say of it at the end of a file, since the end of the one before.
    pub(crate) fn so_far(&mut self, epoch: Epoch, still_running: bool) -> ProcessEnd {
        let header = self.header();
        let rings = self.rings.iter().filter_map(|ring| ring.header(&self.arenas));
        let lost = rings.map(|ring| ring.lost_events.load(Ordering::Relaxed)).fold(0, u64::saturating_add);
        let now = Counts {
            lost_events: lost.saturating_add(header.lost_events.load(Ordering::Relaxed)),
            verified: header.verified.load(Ordering::Relaxed),
            verify_failed: header.verify_failed.load(Ordering::Relaxed),
        };
        let no_clock = header.no_clock.load(Ordering::Relaxed) != 0;
        let before = std::mem::replace(&mut self.reported, now);
        ProcessEnd {
            index: self.info.index,
            epoch,
            still_running,
            lost_events: now.lost_events.saturating_sub(before.lost_events),
            verified: now.verified.saturating_sub(before.verified),
            verify_failed: now.verify_failed.saturating_sub(before.verify_failed),
            no_clock,
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

    /// Whether the process has said that it is about to end.
    pub fn is_ending(&self) -> bool {
        self.header().exiting.load(Ordering::Relaxed) != exit_state::RUNNING
    }

    /// Whether the process waits for a last snapshot of its pages, which is then due.
    pub fn waits_for_exit_snapshot(&self) -> bool {
        let announced = self.header().exiting.load(Ordering::Acquire) == exit_state::ANNOUNCED;
        announced && !self.shook_hands && self.is_present()
    }

    /// Whether a snapshot of the pages is due, and why.
    pub fn snapshot_is_due(&self, now: Duration, rss_bytes: u64) -> Option<Reason> {
        self.snapshot_pace.due(now, rss_bytes)
    }

    /// Takes a snapshot of the pages. `None` if they could not be read.
    pub(crate) fn snapshot(
        &mut self,
        session: &Session,
        images: &mut Images,
        (started, page_bytes): (Instant, u64),
        reason: Reason,
    ) -> Option<(Epoch, Snapshot)> {
        // Another program may have been executed in it, which is not recorded.
        if !self.is_present() || Mapped::of(self.info.pid, &session.memory()).has(&self.first) == Some(false)
        {
            return None;
        }
        let is_handshake = self.waits_for_exit_snapshot();
        let own_memory = self.header().own_memory.each_ref().map(|at| at.load(Ordering::Relaxed));
        let (mut thread_pointers, mut recorder) = (Vec::new(), Vec::new());
        recorder.push(own_memory[0]..own_memory[1]);
        // A ring whose thread has ended keeps its private memory for the next one.
        for (ring, header) in self.rings.iter().filter_map(|r| Some((r, r.header(&self.arenas)?))) {
            let state = header.private_state.load(Ordering::Relaxed);
            recorder.push(state..state.saturating_add(header.private_bytes.load(Ordering::Relaxed)));
            if ring.thread.is_some() && ring.tid != self.info.pid {
                thread_pointers.push(header.handle.load(Ordering::Relaxed));
            }
        }
        let former: Vec<u64> = self.thread_pointers.iter().copied().collect();
        let room = MOST_THREAD_POINTERS.saturating_sub(self.thread_pointers.len());
        self.thread_pointers.extend(thread_pointers.iter().take(room));
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
            former_pointers: &former,
            recorder: &recorder,
            allocator: &allocator,
            session_inode: session.memory().inode(),
            page_bytes,
        };
        let before = started.elapsed();
        // Everything that a thread says from here on belongs to this epoch or a later one.
        let (epoch, _) = session.tick();
        let snapshot = subject.snapshot(Some(images), epoch, before.as_nanos() as u64, reason).ok();
        let rss_bytes = snapshot.as_ref().map_or(0, |s| s.rss_bytes);
        self.snapshot_pace.took(before, started.elapsed().saturating_sub(before), rss_bytes);
        if is_handshake && !self.shake_hands() {
            return None;
        }
        Some((epoch, snapshot?))
    }

    /// Lets the process end that waits for it. Returns whether it still did.
    fn shake_hands(&mut self) -> bool {
        self.shook_hands = true;
        let exiting = &self.header().exiting;
        let (from, to) = (exit_state::ANNOUNCED, exit_state::SEEN);
        let in_time = exiting.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        sys::futex_wake(exiting.as_ptr());
        in_time
    }

    /// Lets the process end that waits for it, unseen.
    pub(crate) fn let_go(&mut self) {
        self.shake_hands();
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
