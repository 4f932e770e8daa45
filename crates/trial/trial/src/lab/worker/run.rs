//! A worker is waited for, but not forever.

use super::error::WorkerError;
use std::process::{Command, Output};

/// Runs a command to its end, or until [`PATIENCE`](super::PATIENCE) is over.
///
/// # Errors
///
/// If it cannot be started or waited for, or takes too long.
pub fn run(command: &mut Command) -> Result<Output, WorkerError> {
    crate::supervise::output(command, super::PATIENCE)?.ok_or(WorkerError::TooSlow)
}
