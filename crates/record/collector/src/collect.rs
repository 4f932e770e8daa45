//! The loop that moves the clock, drains the rings and samples memory.

mod handing_on;
mod joining;
mod memory;
mod pace;

use crate::claims::Claims;
use crate::distrust::Started;
use crate::encode::{Batch, Packer};
use crate::examine::Examiner;
use crate::hooks::{self, EnteredByFile, Planner};
use crate::images::Images;
use crate::inject::children::{Children, NotRecorded};
use crate::joins;
use crate::news::News;
use crate::process::{Common, Process};
use crate::refusals::{Refusals, Refused};
use crate::residency;
use crate::session::Session;
use crate::shares::Shares;
use crate::signals;
use crate::strays::Strays;
use crate::usable::Probes;
use heapwise_trace::event::Epoch;
use heapwise_trace::file::pages::Reason;
use heapwise_trace::file::records::{ProcessIndex, Refusal, RunEnd};
use heapwise_trace::live::layout::ring_capacity;
use pace::Pace;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A batch is handed on when it holds this much, if not before.
const BATCH_BYTES: usize = 4 << 20;
/// While the packer cannot follow, draining goes on up to here; then the rings fill.
const MOST_PENDING_BYTES: usize = 24 << 20;
/// Bytes of the largest ring.
const MAX_RING_BYTES: usize = ring_capacity(0) as usize;
/// Rounds in which what an ended process has left is taken: far more than its rings hold, for others may write to them.
const MOST_ROUNDS_AT_END: usize = 64;

/// What the loop does without a request, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    /// Begin to record after this.
    pub delay: Option<Duration>,
    /// Take a snapshot of the pages this often.
    pub snapshot_every: Option<Duration>,
    /// Stop this long after recording began.
    pub duration: Option<Duration>,
    /// Stop when the file has this many bytes.
    pub max_bytes: Option<u64>,
}

/// When the recording goes on in another file, and what the old one ends with, by what is known then.
pub(crate) struct Cuts<'a> {
    pub(crate) every: Duration,
    pub(crate) end: &'a (dyn Fn(&Outcome) -> RunEnd + Sync),
}

impl std::fmt::Debug for Cuts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cuts").field("every", &self.every).finish_non_exhaustive()
    }
}

/// What the loop found out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Why recording stopped before it was requested to stop.
    pub stopped_early: Option<String>,
    /// Processes that joined.
    pub joined: Vec<u32>,
    /// Programs of processes that joined and then recorded nothing.
    pub silent: BTreeSet<PathBuf>,
    /// Programs of processes that recorded something.
    pub recorded: BTreeSet<PathBuf>,
    /// Files that processes had mapped as code.
    pub images: Vec<PathBuf>,
    /// Paths of the objects that provide the processes' `malloc`, or types below their wrappers.
    pub allocators: BTreeSet<String>,
    /// Processes that were still running at the end.
    pub still_running: u32,
    /// Highest sum of resident bytes.
    pub peak_rss_bytes: u64,
    /// Whether pages that processes share are in that only once.
    pub shared_pages_count_once: bool,
    /// Events that could not be recorded.
    pub lost_events: u64,
    /// Comparisons with a full unwind that failed, and the last frame address at which one did.
    pub verify_failed: Option<(u64, u64)>,
    /// What was in the shared memory and not believed.
    pub refusals: Vec<Refusal>,
    /// Allocators inside of the files that processes had mapped, and what came of the attempt to record them.
    pub entered: EnteredByFile,
    /// Of which of these, by their numbers, heaps have ended with blocks that could not be found out.
    unseen_heap_ends: u64,
    /// Programs that recorded processes started, into which the recorder could not be written, and why.
    pub(crate) not_recorded: NotRecorded,
    /// Programs that recorded processes started, in which the recorder is not.
    pub strays: BTreeSet<PathBuf>,
}

/// The loop's view of the run, from other threads.
#[derive(Debug, Default)]
pub struct Control {
    /// Set when the command has ended: drain everything and return.
    pub finish: AtomicBool,
    /// Set when processes that outlive the command are not waited for.
    pub abandon: AtomicBool,
    /// The recorded process is this one: it goes on when the recording has ended, and keeps its shared memory.
    pub is_own: bool,
    /// Threads of the recorded process that were there before the recording.
    pub already: u64,
    /// How often all resident memory is to be looked at without a signal, and was.
    pub looks_wanted: AtomicU32,
    pub looks_taken: AtomicU32,
}

impl Control {
    /// Says that the command has ended, and wakes the loop. Processes that outlive it are not waited for if `abandon` is set.
    pub(crate) fn end(&self, session: &Session, abandon: bool) {
        self.abandon.store(abandon, Ordering::Release);
        self.finish.store(true, Ordering::SeqCst);
        session.wake();
    }
}

/// What finds out more about processes than their events say.
#[derive(Debug)]
pub struct Helpers {
    /// What slows their heaps from outside.
    pub examiner: Examiner,
    /// How large their allocators' blocks are.
    pub probes: Probes,
    /// Which functions of allocators inside of their files are entered through the recorder.
    pub planner: Planner,
    /// Has the recorder written into programs that recorded processes start.
    pub(crate) children: Children,
}

/// The collector's loop.
#[derive(Debug)]
pub struct Collector<'a> {
    session: &'a Session,
    packer: &'a Packer,
    stops: Stops,
    cuts: Option<Cuts<'a>>,
    /// When the file at hand is to end.
    next_cut: Duration,
    started: Instant,
    processes: Vec<Process>,
    newest_seen: u64,
    indices: std::collections::HashMap<u64, ProcessIndex>,
    claims: Claims,
    started_since: Started,
    refusals: Refusals,
    shares: Shares,
    images: Images,
    /// When a sample was taken last during which no process ended.
    last_whole_sample: Duration,
    /// The process that is drained first, by turns.
    first: usize,
    batch: Batch,
    /// The end of a file for which there was no place in the queue: what comes later is no part of that file.
    parked: Option<Batch>,
    /// Whether something was left in a ring when all were drained last.
    has_left: bool,
    /// Whether a process was taken out since the clock moved last: what it has published may be newer than the watermark.
    has_ended: bool,
    /// The watermark of the last batch in which nothing was held back.
    sent_watermark: Epoch,
    pending_bytes: usize,
    page_bytes: u64,
    outcome: Outcome,
    probes: Probes,
    examiner: Examiner,
    planner: Planner,
    children: Children,
    strays: Strays,
    /// Whether the highest resident set of a process is one of the recording.
    knows_peak: bool,
    /// Whether the delay is over.
    resumed: bool,
    failed: bool,
}

impl<'a> Collector<'a> {
    /// A loop for a session whose clock began at `started`.
    pub fn new(
        session: &'a Session,
        packer: &'a Packer,
        stops: Stops,
        started: Instant,
        page_bytes: u64,
        Helpers { examiner, probes, planner, children }: Helpers,
    ) -> Self {
        Self {
            session,
            packer,
            stops,
            cuts: None,
            next_cut: Duration::MAX,
            started,
            processes: Vec::new(),
            newest_seen: 0,
            indices: std::collections::HashMap::new(),
            claims: Claims::default(),
            started_since: Started::new(session.started_before()),
            refusals: Refusals::default(),
            last_whole_sample: Duration::ZERO,
            images: Images::default(),
            shares: Shares::new(|pid| {
                residency::rollup(pid).ok().map(|sums| (sums.rss_bytes, sums.pss_bytes))
            }),
            first: 0,
            batch: Batch::default(),
            parked: None,
            has_left: false,
            has_ended: false,
            sent_watermark: Epoch::default(),
            pending_bytes: 0,
            page_bytes,
            outcome: Outcome::default(),
            probes,
            examiner,
            planner,
            children,
            strays: Strays::default(),
            knows_peak: true,
            resumed: stops.delay.is_none(),
            failed: false,
        }
    }

    /// The recording is to be in several files.
    pub(crate) fn with_cuts(self, cuts: Option<Cuts<'a>>) -> Self {
        let next_cut = cuts.as_ref().map_or(Duration::MAX, |cuts| cuts.every);
        Self { cuts, next_cut, ..self }
    }

    /// Runs until the command has ended and, unless [`Control::abandon`] is set, every recorded process with it.
    pub fn run(mut self, control: &Control) -> Outcome {
        let (mut sampled, mut checked, mut sent) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let (mut asked, mut looked) = (0, 0);
        let mut idle_turns = 0u32;
        if control.is_own {
            self.started_since.add(joins::own_threads());
        }
        self.started_since.add(control.already);
        self.knows_peak = control.already == 0;
        loop {
            // Read before the rings are drained for the last time, so that nothing of the command's end is missed.
            let finish = control.finish.load(Ordering::Acquire);
            let now = self.started.elapsed();
            let is_ending = self.processes.iter().any(Process::is_ending);
            let pace = Pace::at(now, self.session.is_sampling() && !is_ending);
            let drained = self.round(now);
            idle_turns = if drained == 0 { idle_turns.saturating_add(1) } else { 0 };
            self.answer();
            self.children.tend(self.session);
            self.exit_handshakes();
            if now >= sampled + pace.memory || finish {
                sampled = now;
                self.sample(now, pace);
                self.strays.look(now, &self.processes, &self.session.memory());
            }
            let every = self.stops.snapshot_every.map_or(0, |every| now.as_nanos() / every.as_nanos().max(1));
            let looks = control.looks_wanted.load(Ordering::Acquire);
            if looks != looked {
                looked = looks;
                // The first one of a process that was there before is what there was before.
                let reason = match (control.already > 0, looks) {
                    (true, 1) => Reason::Begin,
                    (true, _) => Reason::Latest,
                    _ => Reason::Requested,
                };
                (0..self.processes.len()).for_each(|i| self.snapshot(i, reason));
                control.looks_taken.store(looks, Ordering::Release);
            }
            let wanted = every + u128::from(signals::snapshots_wanted());
            if wanted != asked {
                asked = wanted;
                if self.cuts.is_some() {
                    self.next_cut = self.next_cut.min(now);
                }
                (0..self.processes.len()).for_each(|i| self.snapshot(i, Reason::Requested));
            }
            if now >= checked + pace.check {
                checked = now;
                self.check(now);
            }
            self.obey_stops(now);
            let done = finish && (self.processes.is_empty() || control.abandon.load(Ordering::Acquire));
            let is_due = now >= sent + pace.batch || (now >= self.next_cut && now >= sent + pace::CUT);
            if self.pending_bytes >= BATCH_BYTES || is_due || done {
                sent = now;
                self.send(done);
            }
            if done {
                break;
            }
            self.sleep(pace, idle_turns, || control.finish.load(Ordering::SeqCst) != finish);
        }
        self.end_all(control.is_own);
        self.outcome.refusals = self.refusals.into_records();
        self.outcome.not_recorded = self.children.end(self.session);
        self.outcome.strays = self.strays.into_programs(&self.outcome.joined);
        self.outcome.images = self.images.paths();
        self.outcome
    }

    /// The processes, and what is common to them.
    fn parts(&mut self) -> (&mut Vec<Process>, Common<'_>, &mut News) {
        let common = Common {
            session: self.session,
            claims: &mut self.claims,
            started: &mut self.started_since,
            refusals: &mut self.refusals,
        };
        (&mut self.processes, common, &mut self.batch.news)
    }

    /// Moves the clock, finds new processes and drains all rings. Returns the drained bytes.
    fn round(&mut self, now: Duration) -> usize {
        self.session.header().rounds.fetch_add(1, Ordering::Relaxed);
        let (epoch, was_right) = self.session.tick();
        if !was_right | !self.session.put_right() {
            let why = "a recorded process has written to it; others may have missed events meanwhile";
            self.refusals.note(Refused::Session, || why.into());
        }
        self.batch.clock.0.push((epoch, now.as_nanos() as u64));
        self.has_ended = false;
        self.discover(now);
        let mut room = MOST_PENDING_BYTES.saturating_sub(self.pending_bytes);
        if room == 0 {
            return 0;
        }
        let (mut drained, mut has_left) = (0, false);
        // Each is the first one now and then: what one process writes takes no room from the others for long.
        let count = self.processes.len();
        self.first = (self.first + 1) % count.max(1);
        let order = (self.first..count).chain(0..self.first);
        let (processes, mut common, news) = self.parts();
        for i in order {
            let (bytes, is_left) = processes[i].drain(&mut common, room, news);
            room = room.saturating_sub(bytes);
            drained += bytes;
            has_left |= is_left;
        }
        self.has_left = has_left;
        self.pending_bytes += drained;
        self.batch.watermark = epoch;
        drained
    }

    /// Says to processes that have asked which functions they are to enter through the recorder.
    fn answer(&mut self) {
        for at in 0..self.processes.len() {
            if !self.processes[at].asks_now() {
                continue;
            }
            // What a forked child has of its parent was looked at, and may be executed by now.
            let (forked_from, is_first) =
                (self.processes[at].info.forked_from, self.processes[at].hooks.answered == 0);
            let parent = self.processes.iter().find(|other| Some(other.info.index) == forked_from);
            let of_parent = parent.filter(|_| is_first).map(|parent| parent.hooks.seen.clone());
            let process = &mut self.processes[at];
            process.hooks.seen.extend(of_parent.into_iter().flatten());
            process.map_new_arenas(&mut Common {
                session: self.session,
                claims: &mut self.claims,
                started: &mut self.started_since,
                refusals: &mut self.refusals,
            });
            process.answer(&mut self.planner);
        }
    }

    /// Checks which threads are gone, which processes were not found, and what memory can be released.
    fn check(&mut self, now: Duration) {
        let (processes, mut common, news) = self.parts();
        for process in processes {
            process.check_threads(&mut common, news);
        }
        self.search(now);
        for arena in self.claims.unclaimed(now) {
            self.session.release(arena);
        }
    }

    /// Drains what a process has left behind, forgets it, and releases its shared memory.
    fn end(&mut self, index: usize, now: Duration) {
        self.take_out(index, false).release(self.session, &mut self.claims, now);
    }

    /// The same but for the memory: it may still be used.
    fn take_out(&mut self, index: usize, still_running: bool) -> Process {
        let mut process = self.processes.remove(index);
        self.has_ended = true;
        self.describe(&mut process);
        for _ in 0..MOST_ROUNDS_AT_END {
            let (_, mut common, news) = self.parts();
            let (drained, _) = process.drain(&mut common, MOST_PENDING_BYTES, news);
            while {
                let (_, mut common, news) = self.parts();
                !process.read_tables(&mut common, news, true)
            } {
                // More nodes than go into one batch.
                self.forward(true, true);
            }
            self.pending_bytes += drained;
            self.batch.blocks.extend(process.take_pending(&self.packer.buffers));
            if drained + MAX_RING_BYTES <= MOST_PENDING_BYTES {
                break;
            }
            // There may have been no room for the last ones.
            self.forward(true, true);
        }
        for (of, entered) in process.entered(&self.planner) {
            self.outcome.entered.entry(of).or_default().merge(&entered);
        }
        self.outcome.unseen_heap_ends |= process.unseen_heap_ends();
        hooks::note_unseen_ends(&mut self.outcome.entered, self.outcome.unseen_heap_ends);
        self.probes.hear(&mut process);
        let end = process.end(self.session, still_running, &mut self.batch.news);
        self.outcome.lost_events = self.outcome.lost_events.saturating_add(end.lost_events);
        if end.verify_failed > 0 {
            let before = self.outcome.verify_failed.map_or(0, |(n, _)| n);
            let sum = before.saturating_add(end.verify_failed);
            self.outcome.verify_failed = Some((sum, process.verify_failed_at()));
        }
        self.batch.ends.push(end);
        let programs = match process.is_silent() {
            true => &mut self.outcome.silent,
            false => &mut self.outcome.recorded,
        };
        programs.extend(process.executable.take());
        process
    }

    fn describe(&mut self, process: &mut Process) {
        // A forked child has its parent's allocator, inside of the program or not.
        let parent = self.processes.iter().find(|other| Some(other.info.index) == process.info.forked_from);
        let inherited = parent.map(Process::allocator_now);
        let described = process.describe(inherited.as_deref());
        if described.is_some() {
            self.outcome.allocators.insert(process.allocator());
            self.probes.want(process, &self.session.memory(), &mut self.refusals);
        }
        self.batch.processes.extend(described);
    }

    fn obey_stops(&mut self, now: Duration) {
        let delay = self.stops.delay.unwrap_or_default();
        if now >= delay && !self.resumed {
            self.resumed = true;
            (0..self.processes.len()).for_each(|i| self.snapshot(i, Reason::Begin));
            self.session.resume();
        }
        if self.session.is_stopped() {
            return;
        }
        let size = self.packer.written.load(Ordering::Relaxed);
        if self.stops.duration.is_some_and(|d| now >= delay + d) {
            self.stop(format!("the time limit was reached after {:.1} s", now.as_secs_f64()));
        } else if self.stops.max_bytes.is_some_and(|most| size >= most) {
            self.stop(format!("the size limit was reached after {:.1} s", now.as_secs_f64()));
        }
    }

    fn stop(&mut self, why: String) {
        self.session.stop();
        self.outcome.stopped_early.get_or_insert(why);
    }

    /// Ends recording for the processes that are still running, and sends the last batch.
    fn end_all(&mut self, is_own: bool) {
        self.outcome.still_running = if is_own { 0 } else { self.processes.len() as u32 };
        if !self.processes.is_empty() {
            self.session.stop();
        }
        self.search(self.started.elapsed());
        let (epoch, _) = self.session.tick();
        self.batch.clock.0.push((epoch, self.started.elapsed().as_nanos() as u64));
        self.batch.watermark = epoch;
        while !self.processes.is_empty() {
            self.take_out(0, !is_own);
        }
        self.send(true);
    }
}
