//! Runs a command to its end and says how much memory it took.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use crate::run::{Outcome, PATIENCE};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// What came of a command.
#[derive(Debug)]
pub struct Measured {
    /// How it ended, and what it said.
    pub outcome: Outcome,
    /// Highest resident set of it, or of something that it has waited for.
    pub peak_rss_bytes: u64,
}

/// Runs a command with its output in files in `folder`.
///
/// # Panics
/// If it does not end; then it is killed, with all that it started.
pub fn run(command: &mut Command, folder: &Path) -> Measured {
    let create = |what: &str| File::create(folder.join(what)).expect("a file for output");
    command.stdout(create(".measured.out")).stderr(create(".measured.err")).process_group(0);
    let began = Instant::now();
    #[expect(
        clippy::zombie_processes,
        reason = "it is waited for below, by a call that also says what it took"
    )]
    let child = command.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let read = |what: &str| std::fs::read(folder.join(what)).unwrap_or_default();
    loop {
        let mut status = 0;
        // SAFETY: zeros are a valid structure of numbers; the child was not waited for, so its id is its own.
        let (waited, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(child.id() as i32, &raw mut status, libc::WNOHANG, &raw mut usage), usage)
        };
        let stderr = || String::from_utf8_lossy(&read(".measured.err")).into_owned();
        if waited == child.id() as i32 {
            let status = ExitStatus::from_raw(status);
            let outcome = Outcome { status, stdout: read(".measured.out"), stderr: stderr() };
            return Measured { outcome, peak_rss_bytes: usage.ru_maxrss as u64 * 1024 };
        }
        if began.elapsed() > PATIENCE {
            // SAFETY: integer arguments; the group is that of the child, which was not waited for.
            unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
            panic!("{command:?} did not end within {PATIENCE:?}\n{}", stderr());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
