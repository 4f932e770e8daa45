//! What can go wrong.

use std::io;

/// A program that could not be started or waited for.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] Repr);

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// This is not Windows.
    NotWindows,
    /// There is no such program.
    NoSuchProgram,
    /// There is, and it cannot be executed.
    NotExecutable,
    Failed,
}

#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(windows), expect(dead_code, reason = "most is for Windows"))]
pub(crate) enum Repr {
    #[cfg(not(windows))]
    #[error("only Windows has a debug heap that a debugger turns on")]
    NotWindows,
    #[error("there is no program to start")]
    NoCommand,
    #[error("cannot start {program}: {error}")]
    Start { program: String, error: io::Error },
    #[error("cannot {what}: {error}")]
    Call { what: &'static str, error: io::Error },
}

impl Error {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match &self.0 {
            #[cfg(not(windows))]
            Repr::NotWindows => ErrorKind::NotWindows,
            Repr::Start { error, .. } if error.kind() == io::ErrorKind::NotFound => ErrorKind::NoSuchProgram,
            Repr::Start { .. } => ErrorKind::NotExecutable,
            Repr::NoCommand | Repr::Call { .. } => ErrorKind::Failed,
        }
    }
}
