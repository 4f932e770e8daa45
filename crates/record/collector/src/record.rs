//! A whole recording: from the command line of a program to a file.

use crate::blind_spots::{KnownSpots, unseen};
use crate::collect::{Collector, Control, Cuts, Helpers, Outcome};
use crate::command::{self, Exit};
use crate::error::{Error, ErrorKind};
use crate::examine::Examiner;
use crate::hooks::Planner;
use crate::inject::children::Children;
use crate::request::{Left, Recorded, Request};
use crate::session::{PreloadLibrary, Session, Settings};
use crate::sys::{Cpu, page_bytes};
use crate::usable::Probes;
use crate::writing::{End, Writing, run_end};
use crate::{inject, output, signals, sys, ticks};
use heapwise_trace::file::records::{Interception, RunEnd};
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How often the user's second interrupt is looked for.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often is looked whether the collector has come to its end.
const STEP: Duration = Duration::from_micros(500);

/// Records a program.
///
/// # Errors
/// What keeps a recording from starting. What happens to it later is in [`Recorded`].
pub fn record(request: Request) -> Result<Recorded, Error> {
    signals::survive_size_limit();
    let session = Session::new(Settings { traces: request.follow, ..request.settings() })?;
    let preload = PreloadLibrary::new(request.preload)?;
    // The default name holds the program's id, which is known when it runs; so it is made under ours and renamed.
    let program = request.command[0].to_string_lossy().into_owned();
    let interception = match request.records_itself {
        true => Interception::Wrapper,
        false if request.image.is_some() => Interception::Ptrace,
        false => Interception::Preload,
    };
    let mut file = Writing::begin(&request, &program, interception, |program| {
        let path = output::default_name(program, std::process::id());
        output::create(&path, request.force).map(|file| (path, file))
    })?;
    let (give_up, in_file) = (request.give_up, Arc::new(OnceLock::<PathBuf>::new()));
    let (known, early) = (Arc::clone(&in_file), file.shown.clone());
    signals::install(move || give_up(known.get().unwrap_or(&early)))
        .map_err(|reason| ErrorKind::System { what: "cannot handle signals", reason })?;

    if request.wait {
        sys::adopt_orphans();
    }
    let (started, clocks) = (Instant::now(), ticks::Moment::now());
    let started_program = start(&request, &session, &preload);
    let (child, mut not_written) = started_program.inspect_err(|_| file.give_up())?;
    let pid = child.id();
    if !request.follow {
        session.only(pid);
    }
    signals::pass_on_to(pid as i32);
    if !file.has_parts {
        if request.output.is_none() {
            file.rename(output::default_name(&program, pid));
        }
        let _ = in_file.set(file.path().to_owned());
    }
    let control = Control::default();
    let helpers = Helpers {
        examiner: Examiner::new(request.examine, &request.environment_findings),
        probes: Probes::with_builds(request.build),
        planner: Planner::new(request.plan),
        children: Children::with(&preload),
    };
    let known = KnownSpots::default();
    let cut = |outcome: &Outcome| RunEnd {
        blind_spots: known.again(outcome, &session, || unseen(pid, &session, outcome, &request, None)),
        ..run_end(outcome, &session, &clocks)
    };
    let cuts = request.rotation.map(|rotation| Cuts { every: rotation.every, end: &cut });
    let collector = Collector::new(&session, &file.packer, request.limits, started, page_bytes(), helpers)
        .with_cuts(cuts);
    let (exit, ended, outcome) = std::thread::scope(|scope| {
        let collecting = scope.spawn(|| collector.run(&control));
        // The program asks the collector while it joins.
        if let Some(image) = request.image.as_ref().filter(|_| not_written.is_none())
            && let Err(why) = inject::at_start(pid, image, &session.path())
        {
            not_written = Some(why.to_string());
        }
        let ran = wait_for(child, request.wait);
        control.end(&session, !request.wait || ran.is_left);
        while !collecting.is_finished() {
            if signals::requests_to_end() > ran.requests {
                control.abandon.store(true, Ordering::Release);
            }
            std::thread::sleep(STEP);
        }
        let outcome = match collecting.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (ran.exit, ran.ended.unwrap_or_else(Instant::now), outcome)
    });

    // That of the whole run says nothing of its last part.
    let cpu = if file.has_parts { Cpu::default() } else { Cpu::of_children() };
    let run_end = RunEnd {
        exit_code: exit.and_then(|e| e.code),
        signal: exit.and_then(|e| e.signal),
        duration_ns: ended.duration_since(started).as_nanos() as u64,
        blind_spots: unseen(pid, &session, &outcome, &request, not_written.as_deref()),
        cpu_ns: cpu.all_ns,
        system_ns: cpu.system_ns,
        ..run_end(&outcome, &session, &clocks)
    };
    let Outcome { still_running, verify_failed, .. } = outcome;
    let end = End { exit, at: ended, still_running, verify_failed, left: Left::default() };
    Ok(file.end(&run_end, end))
}

/// Starts the program, if need be stopped at its first instruction; or says why it is not, where that would have been needed.
fn start(
    request: &Request,
    session: &Session,
    preload: &PreloadLibrary,
) -> Result<(Child, Option<String>), Error> {
    let how = command::How {
        follow: request.follow,
        end_together: request.end_together,
        through_preload: request.through_preload,
        stopped: request.image.is_some(),
        prepare: request.prepare,
    };
    let start = |how| command::start(&request.command, session, preload, how);
    match start(how) {
        Ok(child) => Ok((child, None)),
        Err(error) => {
            let ErrorKind::NotTraced { reason } = error.kind() else { return Err(error) };
            let why = format!(
                "it cannot be traced ({reason}): another tool traces it already, or the system forbids it"
            );
            start(command::How { stopped: false, ..how }).map(|child| (child, Some(why)))
        }
    }
}

/// How a program ran.
struct Ran {
    /// Nothing if the user did not wait for its end.
    exit: Option<Exit>,
    ended: Option<Instant>,
    /// Whether processes are left that were to be waited for.
    is_left: bool,
    /// How often the user has asked for the end so far.
    requests: u32,
}

/// Waits for the end of the program, and with `children` for those of its children.
fn wait_for(mut child: Child, children: bool) -> Ran {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let status = child.wait();
        // The receiver is gone after a second interrupt.
        let _ = sender.send((status, Instant::now()));
        if children {
            sys::wait_for_children();
        }
    });
    let mut end = None;
    // Without a program to pass them on to, signals that end programs end the waiting.
    let mut requests = 0;
    let is_left = loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(its_end) => {
                signals::pass_on_to(0);
                requests = signals::requests_to_end();
                end = Some(its_end);
            }
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) if end.is_some() => {
                if signals::requests_to_end() > requests {
                    break true;
                }
            }
            Err(RecvTimeoutError::Timeout) if signals::is_impatient(children) => break true,
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    signals::pass_on_to(0);
    if end.is_none() {
        requests = signals::requests_to_end();
    }
    let (status, ended) = end.unzip();
    Ran { exit: status.and_then(Result::ok).map(Exit::from), ended, is_left, requests }
}
