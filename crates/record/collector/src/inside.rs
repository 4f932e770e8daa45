//! A recording of the process that the collector itself runs in.
//!
//! For programs that contain the recorder and record a part of their run. The collector's threads are threads of the
//! program then, and what they allocate must not be recorded: [`Request::prepare`] has to see to that. Nothing is done
//! here that would change the program: no signal is handled, and no process is started.

use crate::collect::{Collector, Control, Helpers, Outcome, Stops};
use crate::command;
use crate::encode::Packer;
use crate::error::{Error, ErrorKind};
use crate::examine::Examiner;
use crate::hooks::Planner;
use crate::inject::children::Children;
use crate::session::{Session, Settings};
use crate::sys::{Cpu, page_bytes};
use crate::usable::Probes;
use crate::{output, sys, ticks};
use heapwise_trace::file::records::{Interception, Meta, RunEnd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What is to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The file, which must not exist.
    pub output: &'a Path,
    /// At most so many bytes lie between two recorded blocks, as [`distance`](heapwise_trace::sampling::distance) has it; 0 if all are
    /// recorded.
    pub sample_bytes: u64,
    /// Called by each thread of the collector first: what it does is not to be recorded.
    pub prepare: fn(),
    /// Whether an environment variable concerns the heap; no others are recorded.
    pub concerns_heap: fn(&str) -> bool,
    /// Version of the library.
    pub version: &'a str,
}

/// A recording of this process that is under way.
#[derive(Debug)]
pub struct Inside {
    session: Arc<Session>,
    control: Arc<Control>,
    thread: JoinHandle<(Outcome, Packer)>,
    started: Instant,
    cpu_before: Cpu,
    clocks: ticks::Moment,
    path: PathBuf,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Where the recording is.
    pub path: PathBuf,
    pub events: u64,
    /// Events that are missing, because there was no room for them.
    pub lost_events: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

impl Inside {
    /// Threads of a recording: the collector's and the packer's.
    pub const THREADS: usize = 2;

    /// Makes the file and starts the collector. The recorder joins at [`session_path`](Self::session_path).
    ///
    /// # Errors
    /// The file cannot be made, or the system has no memory or thread left.
    pub fn begin(request: &Request<'_>) -> Result<Self, Error> {
        sys::with_signals_blocked(|| Self::begin_threads(request))
    }

    fn begin_threads(request: &Request<'_>) -> Result<Self, Error> {
        let session = Session::new(Settings { sample_bytes: request.sample_bytes, ..Settings::default() })?;
        // A child that is forked shares nothing with this process that could be drained here.
        session.only(std::process::id());
        let file = output::create(request.output, false)?;
        let failed = |what| move |reason| ErrorKind::System { what, reason };
        let packer = Packer::start(file, &meta(request), None, request.prepare)
            .map_err(|error| std::io::Error::other(error.to_string()))
            .map_err(failed("cannot write the recording"))
            .inspect_err(|_| output::remove(request.output))?;
        let (session, control) =
            (Arc::new(session), Arc::new(Control { is_own: true, ..Control::default() }));
        let (started, clocks) = (Instant::now(), ticks::Moment::now());
        let (prepare, theirs) = (request.prepare, (Arc::clone(&session), Arc::clone(&control)));
        let collect = move || {
            prepare();
            let (session, control) = theirs;
            let stops = Stops::default();
            let helpers = Helpers {
                examiner: Examiner::new(|_| Vec::new(), &[]),
                probes: Probes::off(),
                planner: Planner::default(),
                children: Children::default(),
            };
            let collector = Collector::new(&session, &packer, stops, started, page_bytes(), helpers);
            (collector.run(&control), packer)
        };
        let thread = std::thread::Builder::new().name("heapwise".into()).spawn(collect);
        let thread = thread
            .map_err(failed("cannot start a thread"))
            .inspect_err(|_: &ErrorKind| output::remove(request.output))?;
        let path = request.output.to_owned();
        Ok(Self { session, control, thread, started, cpu_before: Cpu::own(), clocks, path })
    }

    /// Where the recorder finds the shared memory.
    pub fn session_path(&self) -> String {
        self.session.path()
    }

    /// Ends the recording: nothing is recorded any more, and everything that was is in the file.
    ///
    /// # Errors
    /// What kept the file from being written. What was written before that is in it.
    pub fn finish(self) -> Result<Ended, Error> {
        self.session.stop();
        self.control.end(&self.session, true);
        let duration = self.started.elapsed();
        let (outcome, packer) = match self.thread.join() {
            Ok(both) => both,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let cpu = Cpu::own().since(self.cpu_before);
        let run_end = RunEnd {
            duration_ns: duration.as_nanos() as u64,
            stopped_early: outcome.stopped_early,
            refused_processes: self.session.header().refused.load(Ordering::Relaxed),
            peak_rss_bytes: outcome.peak_rss_bytes,
            shared_pages_count_once: outcome.shared_pages_count_once,
            allocators_inside: Vec::new(),
            // The collector's threads are a part of it.
            cpu_ns: cpu.all_ns,
            system_ns: cpu.system_ns,
            ticks_per_second: self.clocks.ticks_per_second(),
            ticks_overhead: ticks::overhead(),
            refusals: outcome.refusals,
            ..RunEnd::default()
        };
        let packed = packer.finish(&run_end);
        if let Some(error) = packed.error {
            let reason = std::io::Error::other(error.to_string());
            return Err(
                ErrorKind::System { what: "the recording could not be written to its end", reason }.into()
            );
        }
        let bytes = packed.file.metadata().map_or(0, |facts| facts.len());
        Ok(Ended { path: self.path, events: packed.events, lost_events: outcome.lost_events, bytes })
    }
}

/// The arguments of this process, from the kernel: not every C library provides them before `main`.
fn command_line() -> Vec<String> {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let arguments = line.strip_suffix(b"\0").unwrap_or(&line).split(|&b| b == 0);
    arguments.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}

fn meta(request: &Request<'_>) -> Meta {
    let of_kernel = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        text.trim().to_owned()
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Meta {
        heapwise: request.version.to_owned(),
        command: command_line(),
        started_unix_ns: now.as_nanos() as u64,
        host: of_kernel("hostname"),
        system: format!("Linux {}", of_kernel("osrelease")),
        architecture: std::env::consts::ARCH.into(),
        page_bytes: page_bytes(),
        processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        interception: Interception::Inside,
        sample_bytes: request.sample_bytes,
        environment: command::environment(request.concerns_heap),
        ..Meta::default()
    }
}
