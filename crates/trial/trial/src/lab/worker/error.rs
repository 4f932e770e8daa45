//! Why a worker has no answer.

use super::PATIENCE;
use std::io;
use std::process::ExitStatus;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// It could not be started or waited for.
    #[error("the worker cannot be run: {0}")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("the worker had not ended after {} s", PATIENCE.as_secs())]
    TooSlow,
    /// It failed.
    #[error("the worker ended with {status}{}", said(.stderr))]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// What it printed is not what was asked for.
    #[error("the worker's answer cannot be used: {0}")]
    Answer(String),
}

fn said(stderr: &str) -> String {
    let line = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // A worker's libraries are other people's, and what they print may be anything.
    let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
    if line.is_empty() { line } else { format!(", and said: {line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_worker_said_is_told_without_its_escapes() {
        assert_eq!(said("first\n\x1b[31mbroken\x07\n\n"), ", and said: [31mbroken");
        assert_eq!(said(" \n"), "");
    }
}
