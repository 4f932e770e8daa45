//! Starts the replaying process, watches it, and gathers what it measured.

mod gather;
mod levels;
mod memory;
mod requests;
mod snapshot;
mod ticks;

use crate::replay::outcome::{Ending, Measured};
use crate::replay::script::Script;
use crate::replay::worker;
use crate::supervise::memory::{Resident, highest, quick, reset_highest};
use crate::supervise::{Child, Ended};
use heapwise_allocators::Prepared;
use heapwise_analysis::{Bytes, Nanos};
use heapwise_collector::usable;
use heapwise_trace::file::pages::UsableSizes;
use levels::Levels;
use memory::Memory;
use rustix::thread::futex;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use ticks::Clock;

/// How fast a replay goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Without any pause.
    Fast,
    /// With the pauses of the recording, divided by a number. Times in the allocator's settings have to be divided as well;
    /// see [`Candidate::scaled`](heapwise_allocators::Candidate::scaled).
    Timed {
        /// 1 for real time.
        compression: u32,
    },
}

/// How to replay.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How fast.
    pub pace: Pace,
    /// Whether to account for resident memory, when most is live and at the end. It takes a nanosecond or two of each call.
    pub accounts: bool,
    /// Every n-th piece of 4096 records is timed; 0 for none.
    pub time_every: u32,
    /// Do everything but the calls: what the replay itself costs.
    pub is_empty: bool,
    /// How long to wait at the end, with all threads still there, before looking again.
    pub settle: Duration,
    /// Whether to measure, at the very end, a call that returns free pages to the system.
    pub purges: bool,
    /// A worker that makes no progress for so long is ended.
    pub patience: Duration,
    /// A worker that takes more bytes of memory is ended; `None` for any.
    pub memory: Option<u64>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            pace: Pace::Fast,
            accounts: true,
            time_every: 1,
            is_empty: false,
            settle: Duration::ZERO,
            purges: false,
            patience: Duration::from_secs(30),
            memory: None,
        }
    }
}

/// Epochs that a thread may be ahead of the slowest one: enough for a queue between threads never to be longer than it was
/// by more than what they do in two milliseconds.
const WINDOW: u32 = 2;
/// Calls that take longer may have been interrupted.
const SUSPICIOUS: Duration = Duration::from_micros(10);
/// How long a worker may take to begin.
const PATIENCE_AT_THE_START: Duration = Duration::from_secs(20);
/// Address space that an allocator may take before it has a use for it: mimalloc and snmalloc begin with a gibibyte.
const AHEAD: u64 = 4 << 30;
/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(1);

/// Why a replay did not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No shared memory.
    #[error("cannot make the shared memory of the replay: {0}")]
    Memory(#[source] std::io::Error),
    /// The worker could not be started.
    #[error("cannot start {program}: {reason}")]
    Start { program: PathBuf, reason: std::io::Error },
    /// The worker ended before it began, or did not begin.
    #[error("{candidate} does not work in a separate process: {reason}")]
    DoesNotBegin {
        /// The allocator.
        candidate: String,
        /// What it printed, or how it ended.
        reason: String,
    },
    #[error("interrupted")]
    Interrupted,
}

/// Replays a script under one allocator after another.
#[derive(Debug)]
pub struct Replayer<'a> {
    script: &'a Script,
    program: PathBuf,
    clock: Clock,
    interrupted: Option<&'a AtomicBool>,
}

impl<'a> Replayer<'a> {
    /// `program` is one that calls [`worker::work`] when it gets [`worker::COMMAND`], and
    /// [`usable::ask_here`] when it gets [`usable::COMMAND`]: usually the running one.
    pub fn new(script: &'a Script, program: PathBuf) -> Self {
        Self { script, program, clock: Clock::start(), interrupted: None }
    }

    /// What is replayed.
    pub(crate) fn script(&self) -> &Script {
        self.script
    }

    /// Ends a replay with [`Error::Interrupted`] when this becomes true.
    #[must_use]
    pub fn until(mut self, interrupted: &'a AtomicBool) -> Self {
        self.interrupted = Some(interrupted);
        self
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// How large an allocator's blocks are; `None` if it does not report that.
    pub fn sizes(&self, allocator: &Prepared) -> Option<UsableSizes> {
        let mut command = Command::new(&self.program);
        command.arg(usable::COMMAND);
        allocator.apply(&mut command);
        let name = allocator.candidate().name();
        let is_glibc = name == "glibc" || allocator.candidate().is_as_it_is();
        usable::ask(&mut command, if is_glibc { "libc.so.6" } else { name }, is_glibc)
    }

    /// Replays once. `sizes` are the allocator's own, for the accounts.
    ///
    /// # Errors
    /// The replay could not begin. What goes wrong later is in [`Measured::ending`].
    pub fn replay(
        &self,
        allocator: &Prepared,
        sizes: Option<&UsableSizes>,
        plan: &Plan,
    ) -> Result<Measured, Error> {
        let memory = Memory::new(self.script).map_err(Error::Memory)?;
        self.configure(&memory, plan);
        let mut process = self.start(allocator, &memory)?;
        reset_highest(process.id());
        let mut levels = Levels::default();
        let began = Instant::now();
        memory.header().begin.store(1, Ordering::Release);
        let watch = Watch { replayer: self, memory: &memory, sizes, plan, began };
        let mut seen = watch.follow(&mut process, &mut levels);
        let wall = began.elapsed();
        let high = highest(process.id());
        let end = anonymous(&process);
        if let Some((rss, _)) = end {
            levels.add(wall, rss);
        }
        let complete = seen.ending.is_none();
        let settled = (complete && !plan.settle.is_zero())
            .then(|| self.settle(&mut process, plan.settle, &mut levels, began))
            .flatten();
        if self.is_interrupted() {
            return Err(Error::Interrupted);
        }
        let live = memory.live_blocks();
        if complete && plan.accounts {
            seen.at_end = snapshot::take(&process, &memory, sizes);
            if self.script.peak == 0 && plan.settle.is_zero() {
                // Most was live at the end.
                seen.at_peak = seen.at_end;
            }
        }
        let own = (complete && plan.accounts && !plan.is_empty)
            .then(|| requests::statistics(&mut process, &memory))
            .flatten();
        let purged = (complete && plan.purges).then(|| requests::purge(&mut process, &memory)).flatten();
        change(&memory.header().end, 1);
        if !complete {
            process.kill();
        }
        let Ended { status, usage } = process.wait();
        let ending = seen.ending.unwrap_or_else(|| ending_of(status, gather::n_calls(&memory)));
        let above_files = high.map_or(Bytes(0), |(all, files)| Bytes(all.saturating_sub(files)));
        let ns_per_tick = self.clock.ns_per_tick();
        let [allocate, free, reallocate] = gather::calls(&memory, ns_per_tick);
        let (end_rss, end_lazily_freed) = end.unwrap_or_default();
        Ok(Measured {
            ending,
            peak_rss: above_files.max(levels.highest()).max(end_rss),
            end_rss,
            end_lazily_freed,
            settled,
            purged,
            own,
            levels: levels.finish(),
            at_peak: seen.at_peak,
            at_end: seen.at_end,
            wall: Nanos(wall.as_nanos() as u64),
            cpu: Nanos((usage.user + usage.system).as_nanos() as u64),
            page_faults: (usage.minor_faults, usage.major_faults),
            calls: gather::n_calls(&memory),
            refused: memory.header().refused.load(Ordering::Relaxed),
            live: (live.len() as u64, Bytes(live.iter().map(|&(_, size)| size).sum())),
            allocate,
            free,
            reallocate,
            slowest: gather::slowest(&memory, self.script, ns_per_tick),
        })
    }

    fn configure(&self, memory: &Memory, plan: &Plan) {
        let header = memory.header();
        let compression = match plan.pace {
            Pace::Fast => 0,
            Pace::Timed { compression } => compression.max(1),
        };
        let snapshot_at = if plan.accounts && !plan.is_empty { self.script.peak } else { 0 };
        header.window.store(WINDOW, Ordering::Relaxed);
        header.time_every.store(plan.time_every, Ordering::Relaxed);
        header.is_empty.store(plan.is_empty.into(), Ordering::Relaxed);
        header.notes_pages.store(plan.accounts.into(), Ordering::Relaxed);
        header.compression.store(compression, Ordering::Relaxed);
        header.suspicious_ticks.store(self.clock.ticks(SUSPICIOUS), Ordering::Relaxed);
        header.snapshot_at.store(snapshot_at, Ordering::Release);
        // Allocators take address space in large pieces ahead of its use.
        let most =
            plan.memory.map_or(0, |most| most.saturating_add(self.script.untouched()).saturating_add(AHEAD));
        header.most_data.store(most, Ordering::Relaxed);
    }

    /// Starts the worker and waits until it could begin.
    fn start(&self, allocator: &Prepared, memory: &Memory) -> Result<Child, Error> {
        let mut command = Command::new(&self.program);
        command
            .args([worker::COMMAND, &std::process::id().to_string()])
            .arg(memory.file.as_raw_fd().to_string())
            .arg(self.script.records.as_raw_fd().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        allocator.apply(&mut command);
        let mut said = tempfile::tempfile().map_err(Error::Memory)?;
        command.stderr(said.try_clone().map_err(Error::Memory)?);
        let start = Child::start(&mut command);
        let mut process = start.map_err(|reason| Error::Start { program: self.program.clone(), reason })?;
        let began = Instant::now();
        while memory.header().is_ready.load(Ordering::Acquire) == 0 {
            let ended = process.poll();
            if ended.is_some() || began.elapsed() > PATIENCE_AT_THE_START {
                let how = match ended {
                    Some(ended) => ended.status.to_string(),
                    None => format!("it did not begin within {PATIENCE_AT_THE_START:?}"),
                };
                let reason = said_by(&mut said).map_or(how.clone(), |words| format!("{how}, {words}"));
                return Err(Error::DoesNotBegin { candidate: allocator.candidate().to_string(), reason });
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(process)
    }

    /// Waits while all threads are still there, and looks again.
    fn settle(
        &self,
        process: &mut Child,
        time: Duration,
        levels: &mut Levels,
        began: Instant,
    ) -> Option<(Bytes, Bytes)> {
        let until = Instant::now() + time;
        while Instant::now() < until && process.poll().is_none() && !self.is_interrupted() {
            let left = until.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(20)));
            if let Some((_, rss)) = quick(process.id()) {
                levels.add(began.elapsed(), Bytes(rss));
            }
        }
        anonymous(process)
    }
}

/// Resident anonymous memory and the part of it that the kernel may take, exactly.
fn anonymous(process: &Child) -> Option<(Bytes, Bytes)> {
    let resident = Resident::of(process.id())?;
    Some((Bytes(resident.anonymous_bytes), Bytes(resident.lazily_freed_bytes.unwrap_or_default())))
}

/// The first line that a worker printed, if any.
fn said_by(file: &mut std::fs::File) -> Option<String> {
    use std::io::Seek;
    file.rewind().ok()?;
    let mut bytes = Vec::new();
    file.take(2000).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

fn ending_of(status: ExitStatus, calls: u64) -> Ending {
    match (status.signal(), status.code()) {
        (Some(signal), _) => Ending::Killed { signal, calls },
        (None, Some(0)) => Ending::Complete,
        (None, code) => Ending::Exited { code: code.unwrap_or(-1), calls },
    }
}

/// What is needed to watch a worker.
#[derive(Debug)]
struct Watch<'a> {
    replayer: &'a Replayer<'a>,
    memory: &'a Memory,
    sizes: Option<&'a UsableSizes>,
    plan: &'a Plan,
    began: Instant,
}

/// What was seen while the worker was at work.
#[derive(Debug, Default)]
struct Seen {
    /// `None` if it did everything.
    ending: Option<Ending>,
    at_peak: Option<heapwise_analysis::Breakdown>,
    at_end: Option<heapwise_analysis::Breakdown>,
}

/// Changes what threads of the worker wait for.
fn change(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
    // They look by themselves, too, only less often.
    let _ = futex::wake(word, futex::Flags::empty(), u32::MAX >> 1);
}

impl Watch<'_> {
    /// Follows a worker until it has done everything, or will not any more.
    fn follow(&self, process: &mut Child, levels: &mut Levels) -> Seen {
        let header = self.memory.header();
        let get = |field: &AtomicU32| field.load(Ordering::Acquire);
        let mut seen = Seen::default();
        let mut last_progress = (self.progress(), Instant::now());
        loop {
            if let Some(ended) = process.poll() {
                seen.ending = Some(ending_of(ended.status, gather::n_calls(self.memory)));
                return seen;
            }
            if self.replayer.is_interrupted() {
                return seen;
            }
            let trouble = header.trouble.load(Ordering::Acquire);
            if trouble != 0 {
                let reason = std::io::Error::from_raw_os_error(trouble).to_string();
                seen.ending = Some(Ending::Trouble { reason });
                return seen;
            }
            // In this order: threads that stay or wait start no others, so if only such run now, no thread is at work.
            let (parked, staying) = (get(&header.parked), get(&header.staying));
            let running = get(&header.running);
            if running > 0 && staying == running {
                return seen;
            }
            if get(&header.snapshot_at) != 0 && running > 0 && parked > 0 && parked + staying == running {
                seen.at_peak = snapshot::take(process, self.memory, self.sizes);
                change(&header.snapshot_at, 0);
            }
            if let Some(rss) = quick(process.id()).map(|(_, rss)| Bytes(rss)) {
                levels.add(self.began.elapsed(), rss);
                if let Some(most) = self.plan.memory.filter(|&most| rss.0 > most) {
                    let calls = gather::n_calls(self.memory);
                    seen.ending = Some(Ending::TooLarge { most: Bytes(most), calls });
                    return seen;
                }
            }
            let progress = self.progress();
            if progress != last_progress.0 {
                last_progress = (progress, Instant::now());
            } else if last_progress.1.elapsed() > self.patience() {
                seen.ending = Some(Ending::Hung { calls: gather::n_calls(self.memory) });
                return seen;
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Pauses of the recording are no sign of anything.
    fn patience(&self) -> Duration {
        match self.plan.pace {
            Pace::Fast => self.plan.patience,
            Pace::Timed { compression } => {
                let duration = Duration::from_nanos(self.replayer.script.duration().0);
                self.plan.patience + duration / compression.max(1)
            }
        }
    }

    /// Something that changes as long as the worker gets on.
    fn progress(&self) -> u64 {
        let header = self.memory.header();
        let threads = u64::from(header.running.load(Ordering::Relaxed)) << 40;
        gather::n_calls(self.memory) + threads + u64::from(header.staying.load(Ordering::Relaxed))
    }
}
