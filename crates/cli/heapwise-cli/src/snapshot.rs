//! `heapwise snapshot`: a look at a recording that is being made.

use crate::args::{ReportArgs, SnapshotArgs};
use crate::{Failure, exit, report};
use anyhow::anyhow;
use heapwise_trace::file::{Reader, Section};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the shared memory of a recording is called.
const SESSION: &str = "/memfd:heapwise-session (deleted)";
/// How long the next file, or more of this one, is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// What was asked for is in the file after this: heapwise writes to it five times a second.
const AT_LEAST: Duration = Duration::from_millis(500);
const STEP: Duration = Duration::from_millis(50);

/// Asks the heapwise that records a process for all that it has, and prints the diagnosis of that.
pub(crate) fn snapshot(args: SnapshotArgs) -> Result<u8, Failure> {
    let failed = |what: String| Failure::new(exit::RUN_FAILED, anyhow!("{what}"));
    let pid = args.pid;
    if !Path::new(&format!("/proc/{pid}")).exists() {
        return Err(failed(format!("there is no process {pid}")));
    }
    let recorder = recorder_of(pid).ok_or_else(|| {
        failed(format!(
            "no heapwise of yours records process {pid}: begin with heapwise attach {pid}, or name the process itself, not one that started it"
        ))
    })?;
    if !is_heapwise(recorder) {
        return Err(failed(match recording_of(recorder) {
            Some(file) => format!(
                "process {recorder} records itself, or with another program than this one, and cannot be asked; what it has written so far: heapwise report {}",
                file.display()
            ),
            None => format!("process {recorder} is no heapwise such as this one, and cannot be asked"),
        }));
    }
    let before = recording_of(recorder)
        .ok_or_else(|| failed(format!("heapwise (process {recorder}) writes no recording at the moment")))?;
    let path = ask(recorder, &before).map_err(failed)?;
    heapwise_report::note!("heapwise: of {}, which process {recorder} writes", path.display());
    report::report(&ReportArgs { recording: path, destination: args.destination, look: args.look })
}

/// Has the recorder end the file at hand, or write what it has. The file with all of that.
fn ask(recorder: u32, before: &Path) -> Result<PathBuf, String> {
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let (began, size_before) = (Instant::now(), size(before));
    let is_one_of_several = part_of(before) > 0;
    let process = i32::try_from(recorder).ok().and_then(Pid::from_raw).ok_or("that is no process")?;
    kill_process(process, Signal::USR2)
        .map_err(|error| format!("process {recorder} cannot be asked: {error}; it is another user's"))?;
    while began.elapsed() < PATIENCE {
        std::thread::sleep(STEP);
        let now = recording_of(recorder);
        match is_one_of_several {
            // It is complete as soon as there is another one, or none.
            true if now.as_deref() != Some(before) => return Ok(before.to_owned()),
            false if began.elapsed() >= AT_LEAST && (size(before) > size_before || now.is_none()) => {
                return Ok(before.to_owned());
            }
            _ => {}
        }
    }
    Err(format!("process {recorder} has written nothing for {} s; is it stopped?", PATIENCE.as_secs()))
}

/// Whether a process is a heapwise that awaits to be asked: the signal for that ends any other program.
fn is_heapwise(pid: u32) -> bool {
    let bit = 1u64 << (Signal::USR2.as_raw() - 1);
    let program = |path: String| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let is_this_program =
        program(format!("/proc/{pid}/exe")).is_some_and(|it| program("/proc/self/exe".into()) == Some(it));
    let name = |path: String| fs::read_link(path).ok()?.file_name().map(|name| name.to_owned());
    let is_called_so =
        name(format!("/proc/{pid}/exe")).is_some_and(|it| name("/proc/self/exe".into()) == Some(it));
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let awaits =
        caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & bit != 0);
    (is_this_program || is_called_so) && awaits
}

/// Which file of several a recording is; 0 if it is the only one, or cannot be read.
fn part_of(path: &Path) -> u32 {
    let first = fs::File::open(path).ok().and_then(|file| Reader::new(file).ok()?.next_section().ok()?);
    match first {
        Some(Section::Meta(meta)) => meta.part,
        _ => 0,
    }
}

/// The heapwise that records a process, or the process itself if that is one: it has the shared memory as an open file.
fn recorder_of(pid: u32) -> Option<u32> {
    if session_open_in(pid).next().is_some() {
        return Some(pid);
    }
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let ours = maps.lines().filter(|line| line.ends_with(SESSION));
    let inodes: Vec<u64> = ours.filter_map(|line| line.split_whitespace().nth(4)?.parse().ok()).collect();
    let ids = fs::read_dir("/proc").ok()?.flatten();
    let mut ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.find(|&other| other != pid && session_open_in(other).any(|inode| inodes.contains(&inode)))
}

/// Sessions that a process has open, by their inodes.
fn session_open_in(pid: u32) -> impl Iterator<Item = u64> {
    let is_session = |path: &PathBuf| fs::read_link(path).is_ok_and(|to| to.as_os_str() == SESSION);
    files_of(pid).filter(is_session).filter_map(|path| Some(fs::metadata(path).ok()?.ino()))
}

/// The recording that a heapwise is writing.
fn recording_of(recorder: u32) -> Option<PathBuf> {
    let paths = files_of(recorder).filter_map(|path| fs::read_link(path).ok());
    let recordings = paths.filter(|path| path.extension().is_some_and(|extension| extension == "hw"));
    // Names may just be added to the one before.
    recordings.filter(|path| path.exists()).max()
}

fn files_of(pid: u32) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten().map(|entry| entry.path())
}
