//! A *trial*: one script under several candidates, side by side.
//!
//! The first round is for accounts and for the slowest calls; every call of it is timed. The rounds that count for the
//! allocator's time follow, shuffled, with an eighth of the calls timed, so that the replay itself disturbs little. At last the
//! timed replays run in parallel, since most of what they do is to wait.

mod cost;
mod estimate;

use crate::replay::outcome::{Ending, Measured};
use crate::replay::parent::{Error, Pace, Plan, Replayer};
use crate::replay::script::{Counts, Script};
use crate::rounds::{Rounds, Step};
use crate::statistics::Spread;
use crate::supervise::output;
pub use cost::Harness;
use estimate::Estimate;
use heapwise_allocators::{Candidate, Libraries, Prepared, identify_with};
use heapwise_analysis::Nanos;
use heapwise_trace::file::pages::UsableSizes;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// In rounds that count, every so manyth piece of a stream is timed.
const TIME_EVERY: u32 = 8;
/// Timed replays that run in parallel on a processor: they sleep nearly all the time.
const BESIDE: usize = 4;

/// How the replays with pauses go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Recorded time is divided by this, and so are the times in the allocators' settings.
    pub compression: u32,
    /// How long to wait after the end before looking at memory again, in recorded time.
    pub settle: Duration,
}

/// What to try and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is tried.
    pub candidates: Vec<Candidate>,
    /// Rounds that count for times, besides the first. 0 measures memory only.
    pub rounds: u32,
    /// Whether to replay without pauses at all.
    pub fast: bool,
    /// Whether to replay with pauses as well, for memory after the load.
    pub timed: Option<Timed>,
    /// How long a worker may do nothing.
    pub patience: Duration,
    /// Decides on the order of rounds.
    pub seed: u64,
    /// Bytes of memory that replays may take together; `None` for any.
    pub memory: Option<u64>,
}

/// A candidate and what came out.
#[derive(Debug)]
pub struct Tried {
    pub candidate: Candidate,
    /// The exact version, as its process reported it; without that, what is known of it; empty if nothing is.
    pub version: String,
    /// Results, or why there are none.
    pub results: Result<Results, String>,
}

/// What was measured of a candidate.
#[derive(Debug, Default)]
pub struct Results {
    /// With accounts; `None` if only replays with pauses were requested.
    pub first: Option<Measured>,
    /// The rounds that count.
    pub rounds: Vec<Measured>,
    /// With pauses.
    pub timed: Option<Measured>,
    /// Highest resident memory in bytes, over all rounds.
    pub peak_rss: Option<Spread>,
    /// Time in the allocator in nanoseconds in each round that counts, without what the replay itself takes.
    pub allocator_rounds_ns: Vec<f64>,
    /// Their median, and the range that holds the true one.
    pub allocator_ns: Option<Spread>,
    /// The same with what writing to its pages takes, of each round.
    pub heap_rounds_ns: Vec<f64>,
    /// Their median, and the range that holds the true one.
    pub heap_ns: Option<Spread>,
}

impl Results {
    /// All replays.
    pub fn all(&self) -> impl Iterator<Item = &Measured> {
        self.first.iter().chain(&self.rounds).chain(&self.timed)
    }

    /// How the first replay ended that did not do everything.
    pub fn failure(&self) -> Option<&Ending> {
        self.all().map(|m| &m.ending).find(|ending| **ending != Ending::Complete)
    }
}

/// Everything that a trial found out.
#[derive(Debug)]
pub struct Trial {
    /// What the script contains.
    pub counts: Counts,
    /// From the first event to the end of the process.
    pub duration: Nanos,
    /// What the replay itself takes.
    pub harness: Option<Harness>,
    /// How the replays with pauses went.
    pub timed: Option<Timed>,
    /// The candidates, in the order in which they were given.
    pub tried: Vec<Tried>,
    /// Whether it was ended early.
    pub is_interrupted: bool,
}

/// Something that can be replayed.
struct Runner<'a> {
    replayer: Replayer<'a>,
    libraries: &'a Libraries,
    options: &'a Options,
    interrupted: &'a AtomicBool,
    total: usize,
    done: AtomicUsize,
    estimate: Estimate,
}

/// Tries all candidates. `program` is the one that workers are started from; see [`Replayer::new`]. `progress` hears of each
/// replay before it begins. `program` has to answer [`heapwise_allocators::IDENTITY_COMMAND`] as well, with
/// [`heapwise_allocators::answer_here`]. When `interrupted` becomes true, what was measured so far is the result.
pub fn try_all(
    script: &Script,
    program: PathBuf,
    libraries: &Libraries,
    options: &Options,
    interrupted: &AtomicBool,
    progress: &(dyn Fn(&Step) + Sync),
) -> Trial {
    let replayer = Replayer::new(script, program.clone()).until(interrupted);
    let fast = if options.fast { 1 + options.rounds as usize } else { 0 };
    let of_each = fast + usize::from(options.timed.is_some());
    let total = options.candidates.len() * of_each;
    let estimate = Estimate::new(options, fast, script.duration());
    let done = AtomicUsize::new(0);
    let runner = Runner { replayer, libraries, options, interrupted, total, done, estimate };
    let is_wanted = options.fast && options.rounds > 0 && !runner.is_interrupted();
    let harness = is_wanted.then(|| runner.harness()).flatten();
    let mut tried: Vec<Tried> = Vec::new();
    let mut ready: Vec<Option<Ready>> = Vec::new();
    for candidate in &options.candidates {
        let mut version = candidate.version();
        // A process for each of them takes its time, and nothing will be done with it.
        let made_ready = (!runner.is_interrupted()).then(|| ready_to_use(libraries, &program, candidate));
        let (prepared, results) = match made_ready {
            None => (None, Ok(Results::default())),
            Some(Ok((prepared, reported))) => {
                version = reported.unwrap_or(version);
                let sizes = options.fast.then(|| runner.replayer.sizes(&prepared)).flatten();
                (Some(Ready { prepared, sizes }), Ok(Results::default()))
            }
            Some(Err(reason)) => (None, Err(reason)),
        };
        ready.push(prepared);
        tried.push(Tried { candidate: candidate.clone(), version, results });
    }
    if options.fast {
        runner.fast(&mut tried, &ready, progress);
    }
    if let Some(timed) = options.timed {
        runner.timed(&mut tried, timed, progress);
    }
    for tried in &mut tried {
        if let Ok(results) = &mut tried.results {
            let complete = || results.all().filter(|m| m.ending == Ending::Complete);
            let fast = || results.first.iter().chain(&results.rounds);
            results.peak_rss =
                Spread::of(fast().filter(|m| m.ending == Ending::Complete).map(|m| m.peak_rss.0 as f64))
                    .or_else(|| Spread::of(complete().map(|m| m.peak_rss.0 as f64)));
            if let Some(harness) = &harness {
                let rounds = || results.rounds.iter().filter(|m| m.ending == Ending::Complete);
                results.heap_rounds_ns = rounds().map(|m| harness.heap_ns(m)).collect();
                results.allocator_rounds_ns =
                    rounds().map(|m| harness.allocator_ns(m, script.counts())).collect();
            }
            results.heap_ns = Spread::of_median(results.heap_rounds_ns.iter().copied());
            results.allocator_ns = Spread::of_median(results.allocator_rounds_ns.iter().copied());
        }
    }
    Trial {
        counts: *script.counts(),
        duration: script.duration(),
        harness,
        timed: options.timed,
        tried,
        is_interrupted: interrupted.load(Ordering::Relaxed),
    }
}

/// Prepares a candidate and checks that a process really uses it: otherwise another allocator would be measured under its name.
/// Returns the version that the process reported.
fn ready_to_use(
    libraries: &Libraries,
    program: &Path,
    candidate: &Candidate,
) -> Result<(Prepared, Option<String>), String> {
    let prepared = libraries.prepare(candidate).map_err(|error| error.to_string())?;
    let identity = prepared.preload().is_some().then(|| identify_with(program, &prepared, &output));
    let identity = identity.transpose().map_err(|error| error.to_string())?;
    Ok((prepared, identity.and_then(|identity| identity.version)))
}

/// A candidate that is ready.
struct Ready {
    prepared: Prepared,
    sizes: Option<UsableSizes>,
}

impl Runner<'_> {
    fn plan(&self) -> Plan {
        Plan { patience: self.options.patience, memory: self.options.memory, ..Plan::default() }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Measures what a replay without calls takes.
    fn harness(&self) -> Option<Harness> {
        let prepared = self.libraries.prepare(&Candidate::default()).ok()?;
        let replay = |time_every| {
            let plan = Plan { time_every, is_empty: true, accounts: false, ..self.plan() };
            self.replayer.replay(&prepared, None, &plan).ok()
        };
        // The first one brings the script into memory.
        replay(0)?;
        Some(Harness::new(&replay(TIME_EVERY)?, &replay(0)?))
    }

    fn tell(&self, what: String, progress: &(dyn Fn(&Step) + Sync)) {
        let done = self.done.fetch_add(1, Ordering::Relaxed);
        let (left, total) = (self.estimate.left(done), self.total as u64);
        progress(&Step { what, done: done as u64, total, left });
    }

    /// The replays without pauses.
    fn fast(&self, tried: &mut [Tried], ready: &[Option<Ready>], progress: &(dyn Fn(&Step) + Sync)) {
        let mut rounds = Rounds::new(tried.len(), self.options.rounds, self.options.seed);
        while let Some(turn) = rounds.next() {
            if self.is_interrupted() {
                return;
            }
            let (Ok(results), Some(ready)) = (&mut tried[turn.who].results, &ready[turn.who]) else {
                rounds.leave_out(turn.who);
                continue;
            };
            let name = &tried[turn.who].candidate;
            self.tell(format!("{name}, round {} of {}", turn.round, turn.rounds), progress);
            let plan = match turn.counts() {
                false => self.plan(),
                true => Plan { accounts: false, time_every: TIME_EVERY, ..self.plan() },
            };
            match self.replayer.replay(&ready.prepared, ready.sizes.as_ref(), &plan) {
                Ok(measured) => {
                    if turn.counts() {
                        results.rounds.push(measured);
                    } else {
                        results.first = Some(measured);
                    }
                    if results.failure().is_some() {
                        rounds.leave_out(turn.who);
                    }
                }
                Err(Error::Interrupted) => return,
                Err(error) => tried[turn.who].results = Err(error.to_string()),
            }
        }
    }

    /// The replays with pauses, several in parallel.
    fn timed(&self, tried: &mut [Tried], timed: Timed, progress: &(dyn Fn(&Step) + Sync)) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let beside = self.beside(processors * BESIDE);
        let memory = self.options.memory.map(|all| all / beside as u64);
        let waiting: Mutex<Vec<&mut Tried>> = Mutex::new(tried.iter_mut().rev().collect());
        std::thread::scope(|scope| {
            for _ in 0..beside {
                scope.spawn(|| {
                    loop {
                        let next = waiting.lock().unwrap_or_else(|e| e.into_inner()).pop();
                        let Some(next) = next.filter(|_| !self.is_interrupted()) else { return };
                        if next.results.as_ref().is_ok_and(|results| results.failure().is_none()) {
                            self.tell(format!("{} with pauses", next.candidate), progress);
                            self.one_timed(next, timed, memory);
                        }
                    }
                });
            }
        });
    }

    /// How many replays fit into memory in parallel.
    fn beside(&self, most: usize) -> usize {
        let Some(memory) = self.options.memory else { return most };
        // An allocator may take half as much again as it hands out.
        let each = self.replayer.script().memory().0.saturating_mul(3) / 2;
        usize::try_from(memory / each.max(1)).unwrap_or(most).clamp(1, most)
    }

    fn one_timed(&self, tried: &mut Tried, timed: Timed, memory: Option<u64>) {
        let plan = Plan {
            pace: Pace::Timed { compression: timed.compression },
            settle: timed.settle / timed.compression.max(1),
            time_every: 0,
            accounts: true,
            purges: true,
            memory,
            ..self.plan()
        };
        let measured = self
            .libraries
            .prepare(&tried.candidate.scaled(timed.compression))
            .map_err(|error| error.to_string())
            .and_then(|prepared| {
                let sizes = self.replayer.sizes(&prepared);
                match self.replayer.replay(&prepared, sizes.as_ref(), &plan) {
                    Err(Error::Interrupted) => Ok(None),
                    result => result.map(Some).map_err(|error| error.to_string()),
                }
            });
        match (measured, &mut tried.results) {
            (Ok(measured), Ok(results)) => results.timed = measured,
            (Err(error), results) => *results = Err(error),
            (Ok(_), Err(_)) => {}
        }
    }
}
