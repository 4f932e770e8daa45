//! A recording of a process that runs already: from its id to a file.

use crate::blind_spots::{KnownSpots, unseen};
use crate::collect::{Collector, Control, Cuts, Helpers, Outcome};
use crate::error::{Error, ErrorKind};
use crate::examine::Examiner;
use crate::hooks::Planner;
use crate::inject::Refused;
use crate::inject::attach::{Halted, Start};
use crate::inject::attached::Attached;
use crate::inject::children::Children;
use crate::inject::detach::{self, Parting};
use crate::inject::prepared::{Prepared, prepare};
use crate::other_ids::{OtherIds, inner_id};
use crate::request::{Left, Limits, Recorded, Request};
use crate::session::{PreloadLibrary, Session, Settings};
use crate::sys::{Cpu, page_bytes};
use crate::usable::Probes;
use crate::writing::{End, Writing, run_end};
use crate::{output, signals, ticks};
use heapwise_trace::file::records::{Interception, RunEnd};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often it is looked whether recording has stopped by itself, or time is up.
const STEP: Duration = Duration::from_millis(200);
/// How long the first and the last snapshot are waited for.
const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(2);

/// What is reported when the process goes on, recorded.
#[derive(Clone, Debug)]
pub struct Begun {
    /// Its threads.
    pub threads: u64,
    /// How long they stood still, stop by stop.
    pub stops: Vec<Duration>,
}

/// Attaches to a process, and records it until it ends, the user interrupts, or a limit is reached. Then the process goes on as it was
/// before.
///
/// # Errors
/// [`ErrorKind::NotAttached`]; what keeps a recording from starting. What happens to it later is in [`Recorded`].
pub fn attach(pid: u32, request: &Request, begun: fn(&Begun)) -> Result<Recorded, Error> {
    signals::survive_size_limit();
    let not_attached = not_attached(pid);
    let mut planner = Planner::new(request.plan);
    let prepared = prepare(pid, &mut planner).map_err(&not_attached)?;
    let image = request.image.as_ref().ok_or_else(|| not_attached(Refused::NoImage))?;
    let program = request.command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let file = Writing::begin(request, &program, Interception::Attach, |program| {
        create_anew(&output::default_name(program, pid))
    })?;
    let (give_up, known) = (request.give_up, file.shown.clone());
    signals::install(move || give_up(&known))
        .map_err(|reason| ErrorKind::System { what: "cannot handle signals", reason })?;

    detach::clear(pid, &prepared.remains, &mut planner);
    let start = Start { image, entry: entry_of(pid) };
    std::thread::scope(|scope| {
        let since = started_at(pid);
        let halted = Halted::new(scope, &prepared, start, &mut planner).map_err(&not_attached);
        let (halted, memory) = halted.inspect_err(|_| file.give_up())?;
        let process = Process { pid, since, prepared: &prepared, planner };
        process.record(request, (halted, memory), file, begun)
    })
}

/// The error for whoever wanted it.
fn not_attached(pid: u32) -> impl Fn(Refused) -> Error {
    move |why| ErrorKind::NotAttached { pid, why: why.to_string() }.into()
}

/// A process that is being recorded.
struct Process<'a> {
    pid: u32,
    /// When it began.
    since: Option<u64>,
    prepared: &'a Prepared,
    planner: Planner,
}

impl Process<'_> {
    fn record(
        mut self,
        request: &Request,
        (halted, memory): (Halted<'_>, File),
        file: Writing,
        begun: fn(&Begun),
    ) -> Result<Recorded, Error> {
        let Self { pid, since, prepared, .. } = self;
        // Threads ask by their own ids.
        let traces = request.follow && !prepared.has_other_ids;
        let settings = Settings { traces, ..request.settings() };
        let preload = PreloadLibrary::new(request.preload).inspect_err(|_| file.give_up())?;
        let mut session = Session::of(memory, settings).inspect_err(|_| file.give_up())?;
        session.other_ids = OtherIds::of(pid).filter(|_| prepared.has_other_ids);
        if !request.follow {
            session.only(inner_id(&format!("/proc/{pid}/status")).unwrap_or(pid));
        }
        let (started, clocks) = (Instant::now(), ticks::Moment::now());
        let control = Control { already: prepared.threads, ..Control::default() };
        let helpers = Helpers {
            examiner: Examiner::new(request.examine, &request.environment_findings),
            probes: Probes::with_builds(request.build),
            planner: self.planner.clone(),
            children: Children::with(&preload),
        };
        // The time counts from when the process goes on, recorded.
        let limits = Limits { duration: None, ..request.limits };
        let delay = request.limits.delay.unwrap_or_default();
        let known = KnownSpots::default();
        let cut = |outcome: &Outcome| RunEnd {
            blind_spots: known.again(outcome, &session, || unseen(pid, &session, outcome, request, None)),
            ..run_end(outcome, &session, &clocks)
        };
        let cuts = request.rotation.map(|rotation| Cuts { every: rotation.every, end: &cut });
        let collector =
            Collector::new(&session, &file.packer, limits, started, page_bytes(), helpers).with_cuts(cuts);
        let cpu_before = cpu_of(pid);
        let whole = std::thread::scope(|scope| {
            let collecting = scope.spawn(|| collector.run(&control));
            let finish = || control.end(&session, true);
            let (attached, stops) = match halted.start() {
                Ok(attached) => attached,
                Err(why) => {
                    session.stop();
                    finish();
                    let _ = collecting.join();
                    return Err(why);
                }
            };
            begun(&Begun { threads: prepared.threads, stops });
            take_snapshot(&control, &session);
            let until = request.limits.duration.map(|time| started.elapsed() + time + delay);
            let why = wait(pid, since, &session, until.map(|until| started + until));
            let ended = Instant::now();
            let cpu = cpu_of(pid).since(cpu_before);
            if why != Why::Ended {
                take_snapshot(&control, &session);
            }
            session.stop();
            let left = leave(&session, &attached, &mut self.planner);
            finish();
            let outcome = match collecting.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            Ok((outcome, ended, cpu, left))
        });
        let (outcome, ended, cpu, left) = whole.map_err(not_attached(pid)).inspect_err(|_| file.give_up())?;
        // That of the whole recording says nothing of its last part.
        let cpu = if file.has_parts { Cpu::default() } else { cpu };
        let run_end = RunEnd {
            duration_ns: ended.duration_since(started).as_nanos() as u64,
            blind_spots: unseen(pid, &session, &outcome, request, None),
            cpu_ns: cpu.all_ns,
            system_ns: cpu.system_ns,
            ..run_end(&outcome, &session, &clocks)
        };
        let verify_failed = outcome.verify_failed;
        // It is to go on.
        let end = End { exit: None, at: ended, still_running: 0, verify_failed, left };
        Ok(file.end(&run_end, end))
    }
}

/// Creates a file by a default name, or by the next one that is free: a process may be recorded more than once.
fn create_anew(name: &Path) -> Result<(PathBuf, File), Error> {
    const MOST: u32 = 10_000;
    for n in 2..MOST {
        let path = if n == 2 { name.to_owned() } else { name.with_extension(format!("{}.hw", n - 1)) };
        match output::create(&path, false) {
            Ok(file) => return Ok((path, file)),
            Err(error) if matches!(error.kind(), ErrorKind::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::Exists { path: name.to_owned() }.into())
}

/// Why a recording is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Ended,
    /// By the user, or by itself.
    Stopped,
    TimeIsUp,
}

/// Waits until the process ends, the user interrupts, recording has stopped by itself, or a time has come.
fn wait(pid: u32, since: Option<u64>, session: &Session, until: Option<Instant>) -> Why {
    // Taken before it is found to be the process that is meant.
    let end = crate::sys::End::of(pid);
    while since.is_some() && started_at(pid) == since {
        if signals::requests_to_end() > 0 || session.is_stopped() {
            return Why::Stopped;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Why::TimeIsUp;
        }
        let left = until.map_or(STEP, |until| until.saturating_duration_since(Instant::now()));
        end.wait(STEP.min(left));
    }
    Why::Ended
}

/// Has all resident memory looked at, and waits for that.
fn take_snapshot(control: &Control, session: &Session) {
    let wanted = control.looks_wanted.fetch_add(1, Ordering::AcqRel) + 1;
    let until = Instant::now() + SNAPSHOT_PATIENCE;
    while control.looks_taken.load(Ordering::Acquire) < wanted && Instant::now() < until {
        session.wake();
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Leaves the process and its forks.
fn leave(session: &Session, attached: &Attached, planner: &mut Planner) -> Left {
    let Parting { left_behind, errors, stops } = detach::from_all(&session.memory(), attached, planner);
    Left { behind: left_behind, errors: errors.iter().map(ToString::to_string).collect(), stops }
}

/// When a process began, by the kernel's clock; `None` if it is gone, or only waits for its parent to hear of that. Its first thread may
/// have ended before the others.
fn started_at(pid: u32) -> Option<u64> {
    const THREADS: usize = 20;
    let has_others = || field(pid, THREADS).is_some_and(|threads| threads > 1);
    let is_there = || state(pid).is_some_and(|state| !"ZX".contains(state)) || has_others();
    field(pid, 22).filter(|_| is_there())
}

/// Its processor time, with that of its threads that have ended.
fn cpu_of(pid: u32) -> Cpu {
    /// Units of `/proc`, on all processors that there are.
    const NS_PER_TICK: u64 = 10_000_000;
    let ns = |place| field(pid, place).unwrap_or_default() * NS_PER_TICK;
    let (user_ns, system_ns) = (ns(14), ns(15));
    Cpu { all_ns: user_ns + system_ns, system_ns }
}

/// A number in `/proc/PID/stat`, by its place from 1 on.
fn field(pid: u32, place: usize) -> Option<u64> {
    behind_name(pid)?.split_whitespace().nth(place - 3)?.parse().ok()
}

fn state(pid: u32) -> Option<char> {
    behind_name(pid)?.trim_start().chars().next()
}

/// What comes behind the name in parentheses, which may hold anything.
fn behind_name(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.to_owned())
}

/// Where a process's program begins, which the kernel has passed to it; 0 if that cannot be read.
fn entry_of(pid: u32) -> u64 {
    const AT_ENTRY: u64 = 9;
    let bytes = std::fs::read(format!("/proc/{pid}/auxv")).unwrap_or_default();
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let mut pairs = words.as_chunks::<2>().0.iter();
    pairs.find(|[kind, _]| *kind == AT_ENTRY).map_or(0, |[_, value]| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_there_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        assert!(started_at(child.id()).is_some());
        // It may not have been executed yet.
        while entry_of(child.id()) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().expect("it is ours");
        while started_at(child.id()).is_some() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.wait().expect("it ended");
        assert!(cpu_of(std::process::id()).all_ns < 1 << 50);
    }
}
