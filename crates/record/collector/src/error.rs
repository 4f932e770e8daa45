//! What can go wrong while recording.

use std::path::PathBuf;

/// An error of the collector.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error {
    kind: ErrorKind,
}

/// The kinds of [`Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The command does not exist.
    #[error("command not found: {command} (is it installed, and in PATH?)")]
    NoSuchProgram {
        /// As it was given.
        command: String,
    },
    /// The command exists and cannot be executed.
    #[error("cannot run {command}: {reason} (a program needs its x permission, and a script its #! line)")]
    NotExecutable {
        /// As it was given.
        command: String,
        reason: std::io::Error,
    },
    /// The command could not be started so that it is traced.
    #[error("cannot trace the program: {reason}")]
    NotTraced { reason: std::io::Error },
    /// The recorder could not be written into a process that runs.
    #[error("cannot attach to process {pid}: {why}")]
    NotAttached { pid: u32, why: String },
    /// The recording's file exists already.
    #[error("{path} exists already: choose another file with -o, or overwrite it with --force")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The recording's file could not be made.
    #[error("cannot create {path}: {reason}")]
    Create {
        /// The file.
        path: PathBuf,
        reason: std::io::Error,
    },
    /// No shared memory.
    #[error(
        "cannot make shared memory for the recording ({what}): {reason} (is memory left, and ulimit -f unlimited?)"
    )]
    SharedMemory {
        /// Which step failed.
        what: &'static str,
        reason: std::io::Error,
    },
    /// Anything else that the system refused.
    #[error("{what}: {reason}")]
    System {
        /// What was tried.
        what: &'static str,
        reason: std::io::Error,
    },
}

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind }
    }
}
