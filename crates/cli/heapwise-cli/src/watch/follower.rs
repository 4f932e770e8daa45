//! Reads a recording as it grows, on a thread of its own, and passes on what is known a few times a second.

use super::names::Naming;
use super::rates::{Rates, Requested};
use super::tail::Tail;
use super::update::{Subject, ThreadRow, Update};
use crate::{Failure, exit, report};
use anyhow::anyhow;
use heapwise_analysis::{Breakdown, Follow, Options, StackSums};
use heapwise_report::command_line;
use heapwise_report::escape::terminal::escape;
use heapwise_trace::file::reader::{Reader, Tail as End};
use heapwise_trace::file::records::RunEnd;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often there is an update.
const PACE: Duration = Duration::from_millis(200);
/// A pause where there is nothing to read.
const PAUSE: Duration = Duration::from_millis(20);
/// Points of the curves: more than columns.
const CURVE: usize = 512;
/// How long pages are left alone after they were gone through, in units of what that took.
const PARTS_PAUSE: u32 = 20;

/// Where the recording is.
#[derive(Clone, Debug)]
pub(super) struct Source(PathBuf);

impl Source {
    pub(super) fn of_file(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// What the follower has to say.
#[derive(Debug)]
pub(super) enum News {
    Update(Box<Update>),
    /// Nothing can be shown.
    Failed(Failure),
}

/// The thread. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Follower {
    news: Arc<Mutex<Option<News>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    pub(super) fn start(source: &Source) -> std::io::Result<Self> {
        let news = Arc::new(Mutex::new(None));
        let stop = Arc::new(AtomicBool::new(false));
        let work = Work { path: source.0.clone(), news: Arc::clone(&news), stop: Arc::clone(&stop) };
        let thread = std::thread::Builder::new().name("follower".into()).spawn(move || work.run())?;
        Ok(Self { news, stop, thread: Some(thread) })
    }

    /// The newest, if there is anything new.
    pub(super) fn news(&self) -> Option<News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panic of it was reported where it happened.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Work {
    path: PathBuf,
    news: Arc<Mutex<Option<News>>>,
    stop: Arc<AtomicBool>,
}

impl Work {
    fn run(self) {
        if let Err(failure) = self.follow() {
            self.tell(News::Failed(failure));
        }
    }

    fn tell(&self, news: News) {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(news);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The file, once it is there.
    fn open(&self) -> Result<Option<File>, Failure> {
        while !self.is_stopped() {
            if self.path.symlink_metadata().is_ok() {
                return report::open(&self.path).map(Some);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }

    fn follow(&self) -> Result<(), Failure> {
        let Some(file) = self.open()? else { return Ok(()) };
        let unreadable = |error: anyhow::Error| {
            Failure::new(exit::UNREADABLE, anyhow!("cannot read {}: {error}", self.path.display()))
        };
        let tail = Tail::new(file.try_clone()?, Arc::clone(&self.stop));
        let reader = match Reader::new(BufReader::with_capacity(1 << 20, tail)) {
            Ok(reader) => reader,
            Err(_) if self.is_stopped() => return Ok(()),
            Err(error) => return Err(unreadable(error.into())),
        };
        let mut options = Options::default();
        options.memory = report::memory();
        let mut follow = Follow::new(reader, &options);
        let mut naming = Naming::start()?;
        let mut state = State::default();
        let mut said = Instant::now();
        let (mut is_first, mut can_go_on) = (true, true);
        while !self.is_stopped() {
            let there = file.metadata().map_or(0, |found| found.len());
            let has_more = can_go_on && follow.offset() < there;
            if has_more {
                can_go_on = follow.step().map_err(|error| unreadable(error.into()))?;
                if self.is_stopped() {
                    break;
                }
                let now = follow.now();
                if state.rates.is_due(now.time.0) {
                    state.note(&follow, now.time.0);
                }
            }
            let is_naming = naming.go_on(&mut follow);
            // The end of a recording is all there is to know of it, with its names.
            let is_done = !has_more && !is_naming && (follow.end().is_some() || !can_go_on);
            if said.elapsed() >= PACE || is_done || (is_first && !has_more) {
                let mut update = state.update(&mut follow, &naming, there);
                update.trouble = (!can_go_on).then(|| trouble(follow.tail(), follow.offset())).flatten();
                self.tell(News::Update(Box::new(update)));
                (said, is_first) = (Instant::now(), false);
            }
            if is_done {
                // Names are written behind the end.
                std::thread::sleep(PACE);
            } else if !has_more {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}

type Following = Follow<BufReader<Tail<File>>>;

/// What is kept beside the accounts.
#[derive(Default)]
struct State {
    rates: Rates,
    of_threads: Rates,
    of_all: Rates,
    parts: Option<Breakdown>,
    parts_wait: Option<Instant>,
}

fn requested(sums: StackSums) -> Requested {
    [sums.requests, sums.requested_bytes]
}

fn of_threads(follow: &Following) -> impl Iterator<Item = Requested> {
    follow.threads().map(|thread| {
        let totals = thread.totals;
        [totals.allocations + totals.reallocations, totals.allocated_bytes.0]
    })
}

fn of_all(follow: &Following) -> Requested {
    let totals = follow.now().totals;
    [totals.allocations + totals.reallocations, totals.allocated_bytes.0]
}

impl State {
    fn note(&mut self, follow: &Following, now_ns: u64) {
        self.rates.note(now_ns, follow.stacks().map(requested));
        self.of_threads.note(now_ns, of_threads(follow));
        self.of_all.note(now_ns, std::iter::once(of_all(follow)));
    }

    fn update(&mut self, follow: &mut Following, naming: &Naming, there: u64) -> Update {
        self.look_at_pages(follow);
        let sums = follow.now();
        let now_ns = sums.time.0;
        let of_thread = self.of_threads.per_second(now_ns, of_threads(follow));
        let of_all = self.of_all.per_second(now_ns, std::iter::once(of_all(follow)));
        let rates = self.rates.per_second(now_ns, follow.stacks().map(requested));
        let threads = follow.threads().zip(of_thread).map(|(thread, rate)| ThreadRow {
            pid: thread.pid,
            tid: thread.tid,
            name: escape(thread.name).into_owned(),
            rate,
            totals: thread.totals,
            live: thread.live.0,
            has_ended: thread.has_ended,
        });
        Update {
            subject: subject(follow),
            sums,
            end: follow.end().map(ending),
            trouble: None,
            rate: of_all.first().copied().unwrap_or_default(),
            stacks: follow.stacks().collect(),
            rates,
            places: naming.places(),
            threads: threads.collect(),
            curve: follow.memory(CURVE),
            parts: self.parts,
            read: (follow.offset(), there),
        }
    }

    fn look_at_pages(&mut self, follow: &mut Following) {
        let newest = follow.looked_at();
        let is_new = newest.is_some() && newest != self.parts.map(|parts| parts.time);
        if !is_new || self.parts_wait.is_some_and(|until| Instant::now() < until) {
            return;
        }
        let began = Instant::now();
        self.parts = follow.breakdown();
        self.parts_wait = Some(Instant::now() + began.elapsed() * PARTS_PAUSE);
    }
}

fn subject(follow: &Following) -> Subject {
    let meta = follow.meta();
    // A program may be started by scripts, which are processes, too.
    let first = follow.processes().find(|(_, has_ended)| !has_ended).or_else(|| follow.processes().next());
    Subject {
        command: escape(&command_line(&meta.command)).into_owned(),
        pid: first.map_or(0, |(process, _)| process.pid),
        allocator: escape(&follow.allocator_name()).into_owned(),
        sample_bytes: meta.sample_bytes,
        processes: follow.processes().count(),
        begins_late: meta.interception.begins_late() || meta.delay_ns > 0,
    }
}

fn ending(end: &RunEnd) -> String {
    match (end.exit_code, end.signal, &end.stopped_early) {
        (_, _, Some(reason)) => format!("recording stopped: {}", escape(reason)),
        (_, Some(signal), _) => format!("ended by signal {signal}"),
        (Some(code), _, _) => format!("ended with code {code}"),
        _ if end.goes_on => "goes on in the next file".to_owned(),
        _ => "recording ended".to_owned(),
    }
}

/// What ended the reading before the end.
fn trouble(tail: Option<End>, offset: u64) -> Option<String> {
    match tail {
        Some(End::Clean) => None,
        Some(End::Truncated) => Some("the file is cut off".to_owned()),
        Some(End::Damaged) => Some(format!("damaged at byte {offset}: nothing behind it is read")),
        Some(End::Excessive(claim)) => {
            Some(format!("not believed from byte {offset} on: {}", escape(&claim.to_string())))
        }
        None => Some(format!("to read on from byte {offset} takes more memory than there is for it")),
    }
}
