//! A whole recording: from the command line of a program to a file.

use crate::collect::{Collector, Control, Cuts, Helpers, Outcome, Stops};
use crate::command::{self, Exit};
use crate::encode::Packer;
use crate::error::{Error, ErrorKind};
use crate::examine::Examiner;
use crate::hooks::{self, EnteredByFile, Planner};
use crate::inject::children::{Children, NotRecorded};
use crate::inject::image::Image;
use crate::rotation::{Files, Rotation};
use crate::session::{PreloadLibrary, Session, Settings};
use crate::sys::{Cpu, page_bytes};
use crate::usable::{Build, Probes};
use crate::{inject, nested, output, signals, strays, sys, ticks, unreached};
use heapwise_trace::file::Error as FileError;
use heapwise_trace::file::records::{BlindSpot, CLibrary, EnvironmentFinding, Interception, Meta, RunEnd};
use heapwise_trace::live::plan::{FilePlan, InFront};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bounds of a recording.
pub type Limits = Stops;

/// What is to be recorded.
#[derive(Debug)]
pub struct Request {
    /// The program and its arguments; not empty.
    pub command: Vec<OsString>,
    /// The file; by default one named after the program in the current folder.
    pub output: Option<PathBuf>,
    /// Replace an existing file.
    pub force: bool,
    /// Record the program's children, too.
    pub follow: bool,
    /// Wait for recorded processes that outlive the program.
    pub wait: bool,
    /// The program does not outlive its recorder, however that ends.
    pub end_together: bool,
    /// When to stop by itself.
    pub limits: Limits,
    /// Where the file goes as soon as it is there, to be read while it grows: not one of several. Its position is the writer's.
    pub reader: Option<Sender<File>>,
    /// Whether the recording is in several files, of which the last are kept. Their names are that of `output`, or one after the
    /// program, with a number.
    pub rotation: Option<Rotation>,
    /// Compare every n-th stack with a full unwind; 0 for never.
    pub verify_every: u32,
    /// At most so many bytes lie between two recorded blocks, as [`distance`](heapwise_trace::sampling::distance) has it; 0 if all are
    /// recorded. Resident pages are not looked at then: which blocks are in them is not known.
    pub sample_bytes: u64,
    /// Programs that have wrapped their allocator leave the recording to the preload library.
    pub through_preload: bool,
    /// Whether the program has wrapped its allocator, and records itself.
    pub records_itself: bool,
    /// What is known to be invisible.
    pub blind_spots: Vec<BlindSpot>,
    /// Explains why a program that recorded nothing could not be seen.
    pub explain: fn(&Path) -> Vec<BlindSpot>,
    /// Finds allocators inside of files that processes have mapped as code. Those that are recorded are named, by the paths of
    /// their files or their types.
    /// So are those inside of files, with what came of it.
    pub look_inside: fn(&[PathBuf], &BTreeSet<String>, &EnteredByFile) -> Vec<BlindSpot>,
    /// Plans which functions of allocators inside of a file are entered through the recorder; nothing for what is no program or
    /// library.
    pub plan: fn(&Path, InFront) -> Option<FilePlan>,
    /// The builds of allocators by which those inside of programs are measured, by their families.
    pub build: fn(&str) -> Option<Build>,
    /// The environment variables that concern the heap, and no others.
    pub environment: BTreeMap<String, String>,
    /// What is known to slow the program's heap from outside of its code.
    pub environment_findings: Vec<EnvironmentFinding>,
    /// Finds the same for a process that has just joined.
    pub examine: fn(u32) -> Vec<EnvironmentFinding>,
    /// Has the program start with what heapwise was started with: ignored signals, closed descriptors.
    pub prepare: fn(&mut Command),
    /// Ends this program, which was interrupted twice and does not come to its end by itself. What was recorded until then is
    /// in the file.
    pub give_up: fn(&Path),
    /// Version of the program that records.
    pub version: String,
    /// The C library of the program that records: a recorded program that has loaded the same file has its version.
    pub c_library: CLibrary,
    /// The preload library.
    pub preload: &'static [u8],
    /// What is written into a program that no library can be preloaded into.
    pub image: Option<Image>,
}

/// What came of it.
#[derive(Debug)]
pub struct Recorded {
    /// Where the recording is.
    pub path: PathBuf,
    /// The recording, open for reading and writing at its end.
    pub file: File,
    /// How the program ended; `None` if the user did not wait for it.
    pub exit: Option<Exit>,
    /// When the program ended.
    pub ended: Instant,
    /// Why the recording lacks its end: the disk was full, say.
    pub error: Option<FileError>,
    /// Events in the file.
    pub events: u64,
    /// Processes that were still running.
    pub still_running: u32,
    /// Stacks that differed from a full unwind, and where one did.
    pub verify_failed: Option<(u64, u64)>,
    /// What it was to leave processes that go on; of attached ones.
    pub left: Left,
}

/// What it was to leave processes that go on without the recorder.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// Processes that go on with its memory in them, where it does nothing.
    pub behind: usize,
    /// What went wrong.
    pub errors: Vec<String>,
    /// How long threads stood still, stop by stop.
    pub stops: Vec<Duration>,
}

/// How often the user's second interrupt is looked for.
const PATIENCE: Duration = Duration::from_millis(500);

/// Records a program.
///
/// # Errors
/// What keeps a recording from starting. What happens to it later is in [`Recorded`].
pub fn record(request: Request) -> Result<Recorded, Error> {
    signals::survive_size_limit();
    let settings = Settings {
        verify_every: request.verify_every,
        paused: request.limits.delay.is_some(),
        plans_hooks: true,
        traces: request.follow,
        sample_bytes: request.sample_bytes,
    };
    let session = Session::new(settings)?;
    let preload = PreloadLibrary::new(request.preload)?;
    // The default name holds the program's id, which is known when it runs; so it is made under ours and renamed.
    let program = request.command[0].to_string_lossy().into_owned();
    let interception = match request.records_itself {
        true => Interception::Wrapper,
        false if request.image.is_some() => Interception::Ptrace,
        false => Interception::Preload,
    };
    let mut meta = meta(&request, interception);
    let NewFile { path: early_path, file, files } = new_file(&request, &program, &mut meta, |program| {
        let path = output::default_name(program, std::process::id());
        output::create(&path, request.force).map(|file| (path, file))
    })?;
    let has_parts = files.is_some();
    let shown = files.as_ref().map_or_else(|| early_path.clone(), Files::pattern);
    let failed = |error: FileError| ErrorKind::System {
        what: "cannot write the recording",
        reason: std::io::Error::other(error.to_string()),
    };
    let packer = Packer::start(file, &meta, files, || {})
        .map_err(failed)
        .inspect_err(|_| output::remove(&early_path))?;
    let (give_up, in_file) = (request.give_up, Arc::new(OnceLock::<PathBuf>::new()));
    let (known, early) = (Arc::clone(&in_file), shown);
    signals::install(move || give_up(known.get().unwrap_or(&early)))
        .map_err(|reason| ErrorKind::System { what: "cannot handle signals", reason })?;

    if request.wait {
        sys::adopt_orphans();
    }
    let (started, clocks) = (Instant::now(), ticks::Moment::now());
    let how = command::How {
        follow: request.follow,
        end_together: request.end_together,
        through_preload: request.through_preload,
        stopped: request.image.is_some(),
        prepare: request.prepare,
    };
    let mut not_written = None;
    let start = |how| command::start(&request.command, &session, &preload, how);
    let mut child = start(how)
        .or_else(|error| {
            let ErrorKind::NotTraced { reason } = error.kind() else { return Err(error) };
            not_written = Some(format!(
                "it cannot be traced ({reason}): another tool traces it already, or the system forbids it"
            ));
            start(command::How { stopped: false, ..how })
        })
        .inspect_err(|_| output::remove(&early_path))?;
    let pid = child.id();
    if !request.follow {
        session.only(pid);
    }
    let wait = request.wait;
    signals::pass_on_to(pid as i32);
    let path = match &request.output {
        None if !has_parts => rename(early_path, output::default_name(&program, pid)),
        _ => early_path,
    };
    if !has_parts {
        let _ = in_file.set(path.clone());
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
    let collector =
        Collector::new(&session, &packer, request.limits, started, page_bytes(), helpers).with_cuts(cuts);
    let (exit, ended, outcome) = std::thread::scope(|scope| {
        let collecting = scope.spawn(|| collector.run(&control));
        // The program asks the collector while it joins.
        if let Some(image) = request.image.as_ref().filter(|_| not_written.is_none())
            && let Err(why) = inject::at_start(pid, image, &session.path())
        {
            not_written = Some(why.to_string());
        }
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let status = child.wait();
            // The receiver is gone after a second interrupt.
            let _ = sender.send((status, Instant::now()));
            if wait {
                sys::wait_for_children();
            }
        });
        let mut exit = None;
        // Without a program to pass them on to, signals that end programs end the waiting.
        let mut requests = 0;
        let is_left = loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok(end) => {
                    signals::pass_on_to(0);
                    requests = signals::requests_to_end();
                    exit = Some(end);
                }
                Err(RecvTimeoutError::Disconnected) => break false,
                Err(RecvTimeoutError::Timeout) if exit.is_some() => {
                    if signals::requests_to_end() > requests {
                        break true;
                    }
                }
                Err(RecvTimeoutError::Timeout) if signals::is_impatient(wait) => break true,
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        signals::pass_on_to(0);
        requests = if exit.is_some() { requests } else { signals::requests_to_end() };
        control.end(&session, !request.wait || is_left);
        while !collecting.is_finished() {
            if signals::requests_to_end() > requests {
                control.abandon.store(true, Ordering::Release);
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        let outcome = match collecting.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let (status, ended) = exit.unzip();
        let exit = status.and_then(Result::ok).map(Exit::from);
        (exit, ended.unwrap_or_else(Instant::now), outcome)
    });

    // That of the whole run says nothing of its last part.
    let cpu = if has_parts { Cpu::default() } else { Cpu::of_children() };
    let run_end = RunEnd {
        exit_code: exit.and_then(|e| e.code),
        signal: exit.and_then(|e| e.signal),
        duration_ns: ended.duration_since(started).as_nanos() as u64,
        blind_spots: unseen(pid, &session, &outcome, &request, not_written.as_deref()),
        cpu_ns: cpu.all_ns,
        system_ns: cpu.system_ns,
        ..run_end(&outcome, &session, &clocks)
    };
    let packed = packer.finish(&run_end);
    Ok(Recorded {
        path: packed.path.unwrap_or(path),
        file: packed.file,
        exit,
        ended,
        error: packed.error,
        events: packed.events,
        still_running: outcome.still_running,
        verify_failed: outcome.verify_failed,
        left: Left::default(),
    })
}

/// A recording's first file.
pub(crate) struct NewFile {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// What makes the others, if there are to be several.
    pub(crate) files: Option<Files>,
}

/// Makes the file that a recording begins with. `create` makes one of a default name.
pub(crate) fn new_file(
    request: &Request,
    program: &str,
    meta: &mut Meta,
    create: impl FnOnce(&str) -> Result<(PathBuf, File), Error>,
) -> Result<NewFile, Error> {
    if let Some(rotation) = request.rotation {
        let named = request.output.clone().unwrap_or_else(|| output::name_of_parts(program));
        let (files, file) = Files::begin(&named, rotation, meta)?;
        return Ok(NewFile { path: files.path().to_owned(), file, files: Some(files) });
    }
    let (path, file) = match &request.output {
        Some(path) => (path.clone(), output::create(path, request.force)?),
        None => create(program)?,
    };
    if let Some(reader) = &request.reader {
        // Without a handle, or if it is not wanted any more, the recording is read when it has ended.
        let _ = file.try_clone().map(|handle| reader.send(handle));
    }
    Ok(NewFile { path, file, files: None })
}

/// What can be said of the end of any recording, or of one of its files.
pub(crate) fn run_end(outcome: &Outcome, session: &Session, clocks: &ticks::Moment) -> RunEnd {
    RunEnd {
        stopped_early: outcome.stopped_early.clone(),
        refused_processes: session.header().refused.load(Ordering::Relaxed),
        peak_rss_bytes: outcome.peak_rss_bytes,
        shared_pages_count_once: outcome.shared_pages_count_once,
        ticks_per_second: clocks.ticks_per_second(),
        ticks_overhead: ticks::overhead(),
        allocators_inside: hooks::inside(&outcome.entered),
        refusals: outcome.refusals.clone(),
        ..RunEnd::default()
    }
}

/// What was found out to be invisible when the file before ended: to look into all files of a program takes long, and there are
/// rarely new ones.
#[derive(Debug, Default)]
pub(crate) struct KnownSpots(Mutex<Option<([usize; 8], Vec<BlindSpot>)>>);

impl KnownSpots {
    /// The same again, unless more is known since.
    pub(crate) fn again(
        &self,
        outcome: &Outcome,
        session: &Session,
        find: impl FnOnce() -> Vec<BlindSpot>,
    ) -> Vec<BlindSpot> {
        let counted = |count: &AtomicU32| count.load(Ordering::Relaxed) as usize;
        let header = session.header();
        let known = [
            outcome.images.len(),
            outcome.allocators.len(),
            outcome.entered.len(),
            outcome.recorded.len(),
            outcome.silent.len(),
            counted(&header.nested_count),
            counted(&header.unreached.count),
            counted(&header.bare.count),
        ];
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, spots)) = &*last
            && *when == known
        {
            return spots.clone();
        }
        let spots = find();
        *last = Some((known, spots.clone()));
        spots
    }
}

/// Programs whose silence is explained; more would be noise.
const MOST_EXPLAINED: usize = 5;

/// What helps where nothing can be written into a program.
const MAY_TRACE: &str =
    "allow heapwise to trace it (ptrace: not in a container without it, not under a debugger)";

/// What the run showed to be invisible.
pub(crate) fn unseen(
    pid: u32,
    session: &Session,
    outcome: &Outcome,
    request: &Request,
    not_written: Option<&str>,
) -> Vec<BlindSpot> {
    let silent = outcome.silent.iter().take(MOST_EXPLAINED);
    let mut spots: Vec<BlindSpot> = silent.flat_map(|program| (request.explain)(program)).collect();
    let is_known =
        |spot: &BlindSpot| request.blind_spots.iter().any(|known| known == spot || known.is_of(spot));
    spots.retain(|spot| !is_known(spot));
    let is_explained = request.blind_spots.iter().any(|spot| spot.id != BlindSpot::BESIDE_THE_WRAPPER);
    // What has no allocator that is known is written to only for what it starts.
    let is_alone = request.blind_spots.iter().any(|spot| spot.id == BlindSpot::STATIC_EXECUTABLE);
    if let Some(why) = not_written {
        spots.push(BlindSpot {
            id: "not-written".into(),
            what: match is_alone {
                true => format!("static programs that the program starts are not recorded: {why}"),
                false => format!("the program is not recorded: {why}"),
            },
            remedy: match is_alone {
                true => MAY_TRACE.into(),
                false => format!("{MAY_TRACE}, or link it dynamically against glibc"),
            },
            ..BlindSpot::default()
        });
    } else if !outcome.joined.contains(&pid) && !is_explained {
        let (what, remedy) = match request.records_itself {
            true => (
                "the program has heapwise::Allocator, and never joined the recording through it",
                "check that it is not set-uid, has /proc, and keeps HEAPWISE_SESSION; or try --recorder preload",
            ),
            false => (
                "the program never loaded heapwise's preload library",
                "check that it is dynamically linked against glibc, not set-uid, and does not clear LD_PRELOAD",
            ),
        };
        spots.push(BlindSpot {
            id: "never-joined".into(),
            what: what.into(),
            remedy: remedy.into(),
            ..BlindSpot::default()
        });
    }
    let inside = (request.look_inside)(&outcome.images, &outcome.allocators, &outcome.entered);
    spots
        .extend(inside.into_iter().filter(|spot| !request.blind_spots.iter().any(|known| known.is_of(spot))));
    spots.extend(nested::blind_spot(session));
    if request.follow {
        spots.extend(unreached::blind_spots(session, &outcome.recorded));
        spots.extend(unreached::not_recorded(&outcome.not_recorded));
        let NotRecorded { unwritten, not_loaded } = &outcome.not_recorded;
        let named = unwritten.keys().chain(not_loaded.keys()).map(|path| path.to_string_lossy().into_owned());
        spots.extend(strays::blind_spot(
            &outcome.strays,
            &unreached::names(session).into_iter().chain(named).collect(),
        ));
    }
    spots
}

pub(crate) fn meta(request: &Request, interception: Interception) -> Meta {
    let of_kernel = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        text.trim().to_owned()
    };
    let nanos = |d: Option<Duration>| d.map_or(0, |d| d.as_nanos() as u64);
    Meta {
        heapwise: request.version.clone(),
        command: request.command.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
        started_unix_ns: nanos(SystemTime::now().duration_since(UNIX_EPOCH).ok()),
        host: of_kernel("hostname"),
        system: format!("Linux {}", of_kernel("osrelease")),
        architecture: std::env::consts::ARCH.into(),
        page_bytes: page_bytes(),
        processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        c_library: request.c_library.clone(),
        interception,
        environment: request.environment.clone(),
        blind_spots: request.blind_spots.clone(),
        environment_findings: request.environment_findings.clone(),
        delay_ns: nanos(request.limits.delay),
        duration_limit_ns: nanos(request.limits.duration),
        size_limit_bytes: request.limits.max_bytes.unwrap_or(0),
        follow: request.follow,
        sample_bytes: request.sample_bytes,
        part: 0,
    }
}

/// Gives the file its final name, unless that is taken; returns the name that it has.
fn rename(from: PathBuf, to: PathBuf) -> PathBuf {
    match std::fs::hard_link(&from, &to) {
        Ok(()) => {
            output::remove(&from);
            to
        }
        Err(_) => from,
    }
}
