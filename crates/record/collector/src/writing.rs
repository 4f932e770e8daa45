//! The file of a recording, from what stands at its beginning to what stands at its end.

use crate::collect::Outcome;
use crate::command::Exit;
use crate::encode::Packer;
use crate::error::{Error, ErrorKind};
use crate::request::{Left, Recorded, Request};
use crate::rotation::Files;
use crate::session::Session;
use crate::sys::page_bytes;
use crate::{hooks, output, ticks};
use heapwise_trace::file::records::{Interception, Meta, RunEnd};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A file that is being written, or the one at hand of several.
#[derive(Debug)]
pub(crate) struct Writing {
    path: PathBuf,
    /// What it is called to the user: the pattern of their names, if there are to be several.
    pub(crate) shown: PathBuf,
    pub(crate) has_parts: bool,
    pub(crate) packer: Packer,
}

/// How a recording has ended.
pub(crate) struct End {
    pub(crate) exit: Option<Exit>,
    pub(crate) at: Instant,
    /// Processes that were still running.
    pub(crate) still_running: u32,
    pub(crate) verify_failed: Option<(u64, u64)>,
    pub(crate) left: Left,
}

impl Writing {
    /// Makes it. `create` makes one of a default name.
    pub(crate) fn begin(
        request: &Request,
        program: &str,
        interception: Interception,
        create: impl FnOnce(&str) -> Result<(PathBuf, File), Error>,
    ) -> Result<Self, Error> {
        let mut meta = meta(request, interception);
        let (path, file, files) = new_file(request, program, &mut meta, create)?;
        let shown = files.as_ref().map_or_else(|| path.clone(), Files::pattern);
        let has_parts = files.is_some();
        let packer = Packer::start(file, &meta, files, || {})
            .map_err(|error| ErrorKind::System {
                what: "cannot write the recording",
                reason: std::io::Error::other(error.to_string()),
            })
            .inspect_err(|_| output::remove(&path))?;
        Ok(Self { path, shown, has_parts, packer })
    }

    /// Removes it, since nothing was recorded.
    pub(crate) fn give_up(&self) {
        output::remove(&self.path);
    }

    /// Gives it this name, unless that is taken.
    pub(crate) fn rename(&mut self, to: PathBuf) {
        if std::fs::hard_link(&self.path, &to).is_ok() {
            output::remove(&self.path);
            self.path = to;
        }
    }

    /// Where it is, if it is the only one.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Ends it with what is known of the run.
    pub(crate) fn end(self, run_end: &RunEnd, end: End) -> Recorded {
        let packed = self.packer.finish(run_end);
        Recorded {
            path: packed.path.unwrap_or(self.path),
            file: packed.file,
            exit: end.exit,
            ended: end.at,
            error: packed.error,
            events: packed.events,
            still_running: end.still_running,
            verify_failed: end.verify_failed,
            left: end.left,
        }
    }
}

/// The first file, and what makes the others, if there are to be several.
fn new_file(
    request: &Request,
    program: &str,
    meta: &mut Meta,
    create: impl FnOnce(&str) -> Result<(PathBuf, File), Error>,
) -> Result<(PathBuf, File, Option<Files>), Error> {
    if let Some(rotation) = request.rotation {
        let named = request.output.clone().unwrap_or_else(|| output::name_of_parts(program));
        let (files, file) = Files::begin(&named, rotation, meta)?;
        return Ok((files.path().to_owned(), file, Some(files)));
    }
    let (path, file) = match &request.output {
        Some(path) => (path.clone(), output::create(path, request.force)?),
        None => create(program)?,
    };
    if let Some(reader) = &request.reader {
        // Without a handle, or if it is not wanted any more, the recording is read when it has ended.
        let _ = file.try_clone().map(|handle| reader.send(handle));
    }
    Ok((path, file, None))
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

/// What is said of a recording at its beginning.
fn meta(request: &Request, interception: Interception) -> Meta {
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
