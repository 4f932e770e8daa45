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
    #[error("the worker ended with {status}{}", said(.stderr))]
    Failed {
        status: ExitStatus,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// What it printed is not the expected answer.
    #[error("the worker's answer cannot be used: {0}")]
    Answer(String),
}

fn said(stderr: &str) -> String {
    let line = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // A worker's libraries are other people's, and what they print may be anything.
    let line = heapwise_environment::harmless::escape_beginning(line, 200);
    if line.is_empty() { String::new() } else { format!(", and said: {line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_worker_said_is_shown_with_its_control_characters_spelled_out() {
        assert_eq!(said("first\n\x1b[31mbroken\x07\n\n"), ", and said: \\u{1b}[31mbroken\\u{7}");
        assert_eq!(said(" \n"), "");
    }
}
