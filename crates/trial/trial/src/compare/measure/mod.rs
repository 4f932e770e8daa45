//! One run of a program, measured from outside.
//!
//! [`supervise`](crate::supervise) starts it, waits for its end, and ends what it leaves behind. Here `watch` samples it
//! meanwhile, `output` reads what it writes, `mapped` finds its allocators, and `service` drives it if it is a server.

mod mapped;
mod output;
mod service;
mod watch;

use crate::compare::{Candidate, EndSource, Error, Memory, Outcome, PeakSource, Program, Ready, Sample};
use crate::supervise::memory::{Resident, highest};
use crate::supervise::orphan_reaper::OrphanReaper;
use crate::supervise::sys::{self, Signal};
use crate::supervise::tracer::{self, Ended, Started};
use mapped::Mapped;
use output::Reader;
use service::{Driven, Server};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use watch::{Seen, Watch};

/// How long a process may need from its last reading to its end. If it took longer, only its first thread had ended then.
const ENDING: Duration = Duration::from_millis(500);
/// How long the rest of an output may take when the program has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// What ends a run before it ends itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Not to be exceeded.
    pub timeout: Option<Duration>,
    /// Set when the measurement is to stop.
    pub interrupted: &'a AtomicBool,
}

impl Limits<'_> {
    fn check_interrupt(&self) -> Result<(), Error> {
        if self.interrupted.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Waits for an end; `None` if it does not come in time.
    fn wait<T>(&self, started: &Started<T>, limit: Duration) -> Result<Option<Ended<T>>, Error> {
        loop {
            self.check_interrupt()?;
            let left = limit.saturating_sub(started.at.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            match started.end.recv_timeout(left.min(Duration::from_millis(100))) {
                Ok(ended) => {
                    // At a second interrupt programs are ended by us: how they ended says nothing.
                    self.check_interrupt()?;
                    return Ok(Some(ended));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
        }
    }
}

/// What was seen of a program when it exited.
#[derive(Clone, Debug)]
struct AtExit {
    memory: Option<Memory>,
    highest_bytes: Option<u64>,
    mapped: Option<Mapped>,
}

impl AtExit {
    fn read(pid: i32, library: Option<&Path>) -> Self {
        Self {
            memory: Resident::of(pid).map(|resident| memory(&resident, false)),
            highest_bytes: highest(pid).map(|(all, _)| all),
            mapped: mapped::mapped(pid, library),
        }
    }
}

/// Of a process. With `divide_shared`, each page that others have too counts as its share.
fn memory(resident: &Resident, divide_shared: bool) -> Memory {
    Memory {
        rss_bytes: if divide_shared { resident.pss_bytes } else { resident.rss_bytes },
        lazily_freed_bytes: resident.lazily_freed_bytes,
    }
}

/// Why a program did not start.
fn not_started(program: String, reason: io::Error) -> Error {
    match reason.kind() {
        ErrorKind::NotFound => Error::NoSuchProgram { program },
        _ => Error::NotExecutable { program, reason },
    }
}

fn lost() -> Error {
    Error::System { what: "wait for the program", reason: ErrorKind::NotFound.into() }
}

/// Held during a measurement: two at a time would disturb each other, and mistake each other's orphans for their own.
static MEASURING: Mutex<()> = Mutex::new(());

/// Runs the program once under a candidate. Runs take turns in a process, which must not have other children in separate process
/// groups meanwhile: they would be ended with what the run left behind.
///
/// # Errors
/// If it cannot be started, or is interrupted. What goes wrong with it afterwards is an [`Outcome`].
pub fn measure(program: &Program, candidate: &Candidate, limits: &Limits<'_>) -> Result<Sample, Error> {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let orphan_reaper = Arc::new(OrphanReaper::new());
    if let Some(service) = &program.service {
        service::refuse_foreign_listener(service)?;
    }
    // What a child has before it becomes the program is a copy of ours, and counts in the kernel's account of it. Other threads
    // may add to ours until then.
    const MARGIN: u64 = 4 << 20;
    let own_mark = Resident::of(std::process::id() as i32).map_or(0, |own| own.rss_bytes + MARGIN);
    let command = prepared(program, candidate)?;
    let name = command.get_program().to_string_lossy().into_owned();
    let library = candidate.library.clone();
    let mut started = tracer::start(command, move |pid| AtExit::read(pid, library.as_deref()))
        .map_err(|reason| not_started(name, reason))?;
    orphan_reaper.program_runs(started.pid);
    let line = match program.service.as_ref().and_then(|service| service.ready.as_ref()) {
        Some(Ready::Line(line)) => Some(line.as_str()),
        _ => None,
    };
    let (Some(stdout), Some(stderr)) = (started.stdout.take(), started.stderr.take()) else {
        return Err(lost());
    };
    let outputs = [Reader::new(stdout, line), Reader::new(stderr, line)];
    let watch = Watch::new(started.pid, started.at, candidate.library.clone(), Arc::clone(&orphan_reaper));
    let driven = match &program.service {
        Some(service) => {
            let [out, err] = &outputs;
            let (pid, end) = (started.pid, &started.end);
            let orphan_reaper = &orphan_reaper;
            let prepare = program.prepare;
            let server = Server {
                service,
                pid,
                watch: &watch,
                orphan_reaper,
                outputs: [out, err],
                end,
                limits,
                prepare,
            };
            server.drive()
        }
        None => run_to_end(&started, limits),
    };
    if driven.is_err() {
        sys::kill_group(started.pid, Signal::KILL);
        // Wait, or it would live on as a zombie.
        let _ = started.end.recv_timeout(Duration::from_secs(10));
    }
    let seen = watch.finish();
    let [stdout, stderr] = outputs.map(|reader| reader.finish(LAST_OUTPUT));
    let mut sample = sample(driven?, seen, own_mark, program.service.is_some())?;
    (sample.stdout, sample.stderr) = (stdout, stderr);
    Ok(sample)
}

/// The command with its environment.
fn prepared(program: &Program, candidate: &Candidate) -> Result<Command, Error> {
    let Some((name, arguments)) = program.command.split_first() else {
        return Err(Error::NoSuchProgram { program: String::new() });
    };
    let mut command = Command::new(name);
    command.args(arguments);
    for (name, value) in &candidate.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let stdin = match &program.stdin {
        None => Stdio::null(),
        Some(path) => File::open(path)
            .map_err(|reason| Error::Stdin { path: path.to_string_lossy().into_owned(), reason })?
            .into(),
    };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(prepare) = program.prepare {
        prepare(&mut command);
    }
    Ok(command)
}

/// Waits for a program that ends by itself, or has to be ended.
fn run_to_end(started: &Started<AtExit>, limits: &Limits<'_>) -> Result<Driven, Error> {
    let ended = limits.wait(started, limits.timeout.unwrap_or(Duration::MAX))?;
    if ended.is_some() {
        return Ok(Driven { ended, ..Driven::default() });
    }
    sys::kill_group(started.pid, Signal::KILL);
    sys::kill(started.pid, Signal::KILL);
    let ended = started.end.recv().ok();
    Ok(Driven { ended, failure: Some(Outcome::TimedOut), ..Driven::default() })
}

/// Puts together what was seen.
fn sample(driven: Driven, seen: Seen, own_mark: u64, is_server: bool) -> Result<Sample, Error> {
    let Some(Ended { status, usage, wall, last_reading }) = driven.ended else { return Err(lost()) };
    let reading = last_reading.filter(|(_, before_end)| *before_end < ENDING).map(|(reading, _)| reading);
    let at_exit = reading.as_ref().and_then(|reading| reading.memory).filter(|memory| memory.rss_bytes > 0);
    // Without the last reading, a short program may have ended before the first one, which is no memory of zero bytes.
    let sampled =
        (seen.last_bytes > 0).then_some(Memory { rss_bytes: seen.last_bytes, lazily_freed_bytes: None });
    let mark = reading.as_ref().and_then(|reading| reading.highest_bytes);
    let highest = mark.unwrap_or(0).max(seen.peak_bytes);
    // The kernel's account also includes children that were waited for, but begins with a copy of our own process.
    let (peak_rss_bytes, peak_source) = match usage.max_rss_bytes {
        accounted if accounted > own_mark && accounted > highest => (accounted, PeakSource::ResourceUsage),
        _ if mark.is_some() => (highest, PeakSource::HighWaterMark),
        _ => (highest, PeakSource::Sampled),
    };
    // A sample from before the loader was done does not show what it loaded afterwards.
    let sampled_maps = seen.mapped.map(|mapped| Mapped {
        has_library: mapped.has_library.filter(|has| *has || mapped.has_any_library),
        ..mapped
    });
    let mapped = reading.and_then(|reading| reading.mapped).or(sampled_maps);
    let cpu = if is_server { driven.cpu } else { Some(usage.user + usage.system) };
    Ok(Sample {
        round: 0,
        is_second: false,
        outcome: driven.failure.unwrap_or_else(|| outcome(status)),
        wall_ns: if is_server {
            driven.load.as_ref().map(|load| load.wall_ns)
        } else {
            Some(wall.as_nanos() as u64)
        },
        cpu_ns: cpu.map(|time| time.as_nanos() as u64),
        user_ns: usage.user.as_nanos() as u64,
        system_ns: usage.system.as_nanos() as u64,
        peak_rss_bytes: (peak_rss_bytes > 0).then_some(peak_rss_bytes),
        peak_source,
        peak_tree_bytes: seen.peak_tree_bytes,
        end: at_exit.or(sampled),
        end_source: if at_exit.is_some() { EndSource::AtExit } else { EndSource::LastSample },
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        processes: seen.processes.max(1),
        executable: mapped.as_ref().and_then(|mapped| mapped.executable.clone()),
        libraries: mapped.as_ref().map(|mapped| mapped.libraries.clone()).unwrap_or_default(),
        in_use: mapped.as_ref().and_then(|mapped| mapped.has_library),
        allocators_seen: mapped.map(|mapped| mapped.allocators).unwrap_or_default(),
        stdout: crate::compare::Output::default(),
        stderr: crate::compare::Output::default(),
        timeline: seen.timeline,
        load: driven.load,
        after_load: driven.after_load,
        after_settle: driven.after_settle,
    })
}

/// What a status of `wait` means.
fn outcome(status: i32) -> Outcome {
    match code_and_signal(status) {
        (Some(code), _) => Outcome::Exited(code),
        (None, signal) => Outcome::Killed(signal.unwrap_or(0)),
    }
}

fn code_and_signal(status: i32) -> (Option<i32>, Option<i32>) {
    use std::os::unix::process::ExitStatusExt;
    let status = std::process::ExitStatus::from_raw(status);
    (status.code(), status.signal())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended_without_a_last_reading(seen: Seen) -> Sample {
        let wall = Duration::from_millis(1);
        let ended = Ended { status: 0, usage: sys::Usage::default(), wall, last_reading: None };
        sample(Driven { ended: Some(ended), ..Driven::default() }, seen, 16 << 20, false).unwrap()
    }

    #[test]
    fn who_was_not_seen_has_no_memory_that_is_known() {
        let sample = ended_without_a_last_reading(Seen::default());
        assert_eq!((sample.peak_rss_bytes, sample.end, sample.in_use), (None, None, None));
        let seen = Seen { last_bytes: 4096, peak_bytes: 8192, ..Seen::default() };
        let sample = ended_without_a_last_reading(seen);
        assert_eq!((sample.peak_rss_bytes, sample.end.map(|end| end.rss_bytes)), (Some(8192), Some(4096)));
        assert_eq!((sample.peak_source, sample.end_source), (PeakSource::Sampled, EndSource::LastSample));
    }

    #[test]
    fn a_library_is_only_missing_where_others_were_loaded() {
        let with = |has_library: bool, has_any_library: bool| {
            let mapped = Mapped { has_library: Some(has_library), has_any_library, ..Default::default() };
            ended_without_a_last_reading(Seen { mapped: Some(mapped), ..Seen::default() }).in_use
        };
        assert_eq!(with(false, false), None, "only the loader was there");
        assert_eq!(with(false, true), Some(false));
        assert_eq!([with(true, false), with(true, true)], [Some(true); 2]);
    }
}
