//! Runs a command to its end and measures its memory.

use crate::run::{Outcome, PATIENCE};
use heapwise_trial::supervise::Child;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// The result of a command.
#[derive(Debug)]
pub struct Measured {
    /// How it ended, and its output.
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
    command.stdout(create(".measured.out")).stderr(create(".measured.err"));
    let mut child = Child::start(command).unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let ended = child.wait_within(PATIENCE);
    let read = |what: &str| std::fs::read(folder.join(what)).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&read(".measured.err")).into_owned();
    let Some(ended) = ended else { panic!("{command:?} did not end within {PATIENCE:?}\n{stderr}") };
    let outcome = Outcome { status: ended.status, stdout: read(".measured.out"), stderr };
    Measured { outcome, peak_rss_bytes: ended.usage.max_rss_bytes }
}
