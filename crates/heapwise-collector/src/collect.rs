//! The loop that moves the clock, drains the rings and samples memory.

use crate::encode::{Batch, Packer};
use crate::examine::Examiner;
use crate::process::Process;
use crate::session::Session;
use crate::signals;
use crate::sys;
use crate::usable::Probes;
use heapwise_trace::file::pages::Reason;
use heapwise_trace::file::records::{ProcessIndex, ThreadIndex};
use heapwise_trace::file::tables::Sample;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::TrySendError;
use std::time::{Duration, Instant};

/// How often the clock moves and the rings are looked at.
const TICK: Duration = Duration::from_millis(1);
/// The same after a while without events.
const IDLE_TICK: Duration = Duration::from_millis(5);
const IDLE_AFTER_TICKS: u32 = 100;
/// How often memory is sampled and the ends of processes are looked for.
const SAMPLE: Duration = Duration::from_millis(10);
/// How often the ends of threads are looked for.
const CHECK: Duration = Duration::from_millis(50);
/// A batch is handed on when it holds this much, or after this long.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_TIME: Duration = Duration::from_millis(200);
/// The same at first, so that little is lost of a program that fills the disk or is stopped soon.
const FIRST_BATCH_TIME: Duration = Duration::from_millis(20);
const FIRST_BATCHES: Duration = Duration::from_secs(1);
/// While the packer cannot follow, draining goes on up to here; then the rings fill.
const MOST_PENDING_BYTES: usize = 24 << 20;

/// When to do what by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stops {
    /// Begin to record after this.
    pub delay: Option<Duration>,
    /// Look at the pages this often.
    pub snapshot_every: Option<Duration>,
    /// Stop this long after recording began.
    pub duration: Option<Duration>,
    /// Stop when the file has this many bytes.
    pub max_bytes: Option<u64>,
}

/// What the loop found out.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Why recording stopped before it was told to.
    pub stopped_early: Option<String>,
    /// Processes that joined.
    pub joined: Vec<u32>,
    /// Programs of processes that joined and then recorded nothing.
    pub silent: BTreeSet<PathBuf>,
    /// Processes that were still running at the end.
    pub still_running: u32,
    /// Highest sum of resident bytes.
    pub peak_rss_bytes: u64,
    /// Events that could not be recorded.
    pub lost_events: u64,
    /// Comparisons with a full unwind that failed, and the last frame address at which one did.
    pub verify_failed: Option<(u64, u64)>,
}

/// The loop's view of the run, from other threads.
#[derive(Debug, Default)]
pub struct Control {
    /// Set when the command has ended: drain everything and return.
    pub finish: AtomicBool,
    /// Set when nobody waits for processes that outlive the command.
    pub abandon: AtomicBool,
    /// The recorded process is this one: it goes on when the recording has ended, and keeps its shared memory.
    pub is_own: bool,
}

/// The collector's loop.
#[derive(Debug)]
pub struct Collector<'a> {
    session: &'a Session,
    packer: &'a Packer,
    stops: Stops,
    started: Instant,
    processes: Vec<Process>,
    newest_seen: u64,
    indices: std::collections::HashMap<u64, ProcessIndex>,
    next_thread: u32,
    batch: Batch,
    pending_bytes: usize,
    page_bytes: u64,
    outcome: Outcome,
    probes: Probes,
    examiner: Examiner,
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
        examiner: Examiner,
        probes: Probes,
    ) -> Self {
        Self {
            session,
            packer,
            stops,
            started,
            processes: Vec::new(),
            newest_seen: 0,
            indices: std::collections::HashMap::new(),
            next_thread: 0,
            batch: Batch::default(),
            pending_bytes: 0,
            page_bytes,
            outcome: Outcome::default(),
            probes,
            examiner,
            resumed: stops.delay.is_none(),
            failed: false,
        }
    }

    /// Runs until the command has ended and, unless told otherwise, every recorded process with it.
    pub fn run(mut self, control: &Control) -> Outcome {
        let (mut sampled, mut checked, mut sent) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let mut asked = 0;
        let mut idle_ticks = 0u32;
        loop {
            // Read before the last look at the rings, so that nothing of the command's end is missed.
            let finish = control.finish.load(Ordering::Acquire);
            let now = self.started.elapsed();
            let drained = self.round(now);
            idle_ticks = if drained == 0 { idle_ticks.saturating_add(1) } else { 0 };
            self.take_leave();
            if now >= sampled + SAMPLE || finish {
                sampled = now;
                self.sample(now);
            }
            let every = self.stops.snapshot_every.map_or(0, |every| now.as_nanos() / every.as_nanos().max(1));
            let wanted = every + u128::from(signals::snapshots_wanted());
            if wanted != asked {
                asked = wanted;
                (0..self.processes.len()).for_each(|i| self.look(i, Reason::Requested));
            }
            if now >= checked + CHECK {
                checked = now;
                for process in &mut self.processes {
                    process.check_threads(self.session, &mut self.next_thread, &mut self.batch.news);
                }
            }
            self.obey_stops(now);
            let done = finish && (self.processes.is_empty() || control.abandon.load(Ordering::Acquire));
            let interval = if now < FIRST_BATCHES { FIRST_BATCH_TIME } else { BATCH_TIME };
            if self.pending_bytes >= BATCH_BYTES || now >= sent + interval || done {
                sent = now;
                self.send(done);
            }
            if done {
                break;
            }
            self.sleep(if idle_ticks > IDLE_AFTER_TICKS { IDLE_TICK } else { TICK });
        }
        self.end_all(control.is_own);
        self.outcome
    }

    /// Moves the clock, finds new processes and drains all rings. Returns the drained bytes.
    fn round(&mut self, now: Duration) -> usize {
        let epoch = self.session.tick();
        self.batch.clock.0.push((epoch, now.as_nanos() as u64));
        self.discover();
        if self.pending_bytes >= MOST_PENDING_BYTES {
            return 0;
        }
        let mut drained = 0;
        for process in &mut self.processes {
            drained += process.drain(self.session, &mut self.next_thread, &mut self.batch.news);
        }
        self.pending_bytes += drained;
        self.batch.watermark = epoch;
        drained
    }

    fn discover(&mut self) {
        let newest = self.session.header().newest_process.0.load(Ordering::Acquire);
        if newest == self.newest_seen {
            return;
        }
        // The list leads from the newest to the oldest; they are taken in the order in which they joined.
        let mut offsets = Vec::new();
        let mut at = newest;
        while at != 0 && at != self.newest_seen {
            offsets.push(at);
            match Process::new(self.session, at, ProcessIndex(0), |_| None) {
                Ok(process) => at = process.previous(),
                Err(_) => break,
            }
        }
        self.newest_seen = newest;
        for offset in offsets.into_iter().rev() {
            let index = ProcessIndex(self.indices.len() as u32);
            let known = |parent| self.indices.get(&parent).copied();
            let Ok(mut process) = Process::new(self.session, offset, index, known) else { continue };
            self.indices.insert(offset, index);
            let pid = process.info.pid;
            // A program that a process executes takes its id over: whoever had it before is over.
            while let Some(old) = self.processes.iter().position(|p| p.info.pid == pid) {
                self.end(old);
            }
            self.outcome.joined.push(pid);
            self.examiner.look(&mut process.info);
            self.processes.push(process);
        }
    }

    /// Samples resident memory and takes leave of processes that are gone.
    fn sample(&mut self, now: Duration) {
        let mut total = 0;
        let mut gone = Vec::new();
        let mut due = Vec::new();
        for (i, process) in self.processes.iter().enumerate() {
            let Some(pages) = sys::resident_pages(process.info.pid) else {
                gone.push(i);
                continue;
            };
            let rss_bytes = (pages * self.page_bytes).saturating_sub(process.own_bytes());
            total += rss_bytes;
            let time_ns = now.as_nanos() as u64;
            self.batch.samples.0.push(Sample { process: process.info.index, time_ns, rss_bytes });
            due.extend(process.look_is_due(now, rss_bytes).map(|reason| (i, reason)));
        }
        self.outcome.peak_rss_bytes = self.outcome.peak_rss_bytes.max(total);
        due.into_iter().for_each(|(i, reason)| self.look(i, reason));
        for i in gone.into_iter().rev() {
            self.end(i);
        }
    }

    /// Looks at the pages of processes that are about to end, and lets them go.
    fn take_leave(&mut self) {
        for i in 0..self.processes.len() {
            if self.processes[i].says_farewell() {
                self.look(i, Reason::Latest);
            }
        }
    }

    fn look(&mut self, index: usize, reason: Reason) {
        let process = &mut self.processes[index];
        if let Some((epoch, snapshot)) = process.look(self.session, self.started, self.page_bytes, reason) {
            self.batch.clock.0.push((epoch, snapshot.time_ns));
            self.batch.snapshots.push(snapshot);
        }
    }

    /// Drains what a process has left behind, forgets it, and gives its shared memory back.
    fn end(&mut self, index: usize) {
        self.take_out(index, false).release(self.session);
    }

    /// The same but for the memory: it may still be used.
    fn take_out(&mut self, index: usize, still_running: bool) -> Process {
        let mut process = self.processes.remove(index);
        self.pending_bytes += process.drain(self.session, &mut self.next_thread, &mut self.batch.news);
        let described = process.describe();
        self.probes.want(described.as_ref());
        self.batch.processes.extend(described);
        process.read_tables(&mut self.batch.news, true);
        self.batch.blocks.extend(process.take_pending(&self.packer.buffers));
        let end = process.end(self.session, still_running, &mut self.batch.news);
        self.outcome.lost_events += end.lost_events;
        if end.verify_failed > 0 {
            let before = self.outcome.verify_failed.map_or(0, |(n, _)| n);
            self.outcome.verify_failed = Some((before + end.verify_failed, process.verify_failed_at()));
        }
        self.batch.ends.push(end);
        if process.is_silent() {
            self.outcome.silent.extend(process.executable.take());
        }
        process
    }

    fn obey_stops(&mut self, now: Duration) {
        let delay = self.stops.delay.unwrap_or_default();
        if now >= delay && !self.resumed {
            self.resumed = true;
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

    /// Hands the batch to the packer; keeps it if the queue is full, unless there is no later.
    fn send(&mut self, wait: bool) {
        for process in &mut self.processes {
            let described = process.describe();
            self.probes.want(described.as_ref());
            self.batch.processes.extend(described);
            process.read_tables(&mut self.batch.news, false);
            self.batch.blocks.extend(process.take_pending(&self.packer.buffers));
        }
        merge_blocks(&mut self.batch);
        self.batch.sizes.extend(self.probes.answers(wait));
        let watermark = self.batch.watermark;
        let batch = std::mem::take(&mut self.batch);
        let sent = if wait {
            self.packer.batches.send(batch).map_err(|e| TrySendError::Disconnected(e.0))
        } else {
            self.packer.batches.try_send(batch)
        };
        match sent {
            Ok(()) => self.pending_bytes = 0,
            Err(TrySendError::Full(batch)) => self.batch = batch,
            Err(TrySendError::Disconnected(_)) => {
                self.pending_bytes = 0;
                if !std::mem::replace(&mut self.failed, true) {
                    self.stop("the recording could not be written".into());
                }
            }
        }
        self.batch.watermark = watermark;
    }

    /// Sleeps for a tick, or less if a ring fills.
    fn sleep(&self, tick: Duration) {
        let wake = &self.session.header().wake.0;
        wake.store(1, Ordering::Release);
        sys::futex_wait(wake, 1, tick);
        wake.store(0, Ordering::Relaxed);
    }

    /// The last words of processes that are still running, and of the loop.
    fn end_all(&mut self, is_own: bool) {
        self.outcome.still_running = if is_own { 0 } else { self.processes.len() as u32 };
        if !self.processes.is_empty() {
            self.session.stop();
        }
        let epoch = self.session.tick();
        self.batch.clock.0.push((epoch, self.started.elapsed().as_nanos() as u64));
        self.batch.watermark = epoch;
        while !self.processes.is_empty() {
            self.take_out(0, !is_own);
        }
        self.send(true);
    }
}

/// One block per thread: a batch that was kept back may have several.
fn merge_blocks(batch: &mut Batch) {
    let mut merged: Vec<(ThreadIndex, Vec<u64>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (thread, words) in batch.blocks.drain(..) {
        match places.get(&thread) {
            Some(&i) => {
                let (_, before): &mut (_, Vec<u64>) = &mut merged[i];
                before.extend_from_slice(&words);
            }
            None => {
                places.insert(thread, merged.len());
                merged.push((thread, words));
            }
        }
    }
    batch.blocks = merged;
}
