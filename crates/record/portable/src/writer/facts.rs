//! What is recorded, where and how.

use super::{Job, PROCESS};
use crate::{state, system};
use heapwise_trace::file::records::{Interception, Meta, ProcessInfo};

/// Most bytes of a command line, as in other recordings.
const MOST_COMMAND_BYTES: usize = 4096;

pub(super) fn meta(job: &Job) -> Meta {
    Meta {
        heapwise: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(),
        started_unix_ns: job.started_unix_ns,
        host: of_kernel("hostname"),
        system: system_name(),
        architecture: std::env::consts::ARCH.to_owned(),
        page_bytes: system::page_bytes(),
        processors: std::thread::available_parallelism()
            .map_or(0, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        interception: Interception::Inside,
        environment_findings: state::environment(),
        sample_bytes: job.sample_bytes,
        ..Meta::default()
    }
}

pub(super) fn process() -> ProcessInfo {
    #[cfg(unix)]
    let parent_pid = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let parent_pid = 0;
    ProcessInfo {
        index: PROCESS,
        pid: std::process::id(),
        parent_pid,
        command: command(),
        allocator: state::allocator(),
        ..ProcessInfo::default()
    }
}

fn command() -> Vec<String> {
    let mut room = MOST_COMMAND_BYTES;
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words
        .take_while(|word| {
            let fits = word.len() <= room;
            room = room.saturating_sub(word.len() + 1);
            fits
        })
        .collect()
}

/// What Linux says of itself; empty on other systems.
fn of_kernel(name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    text.trim().to_owned()
}

fn system_name() -> String {
    if cfg!(target_os = "linux") {
        return format!("{} {}", of_kernel("ostype"), of_kernel("osrelease"));
    }
    std::env::consts::OS.to_owned()
}
