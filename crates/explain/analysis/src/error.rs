//! What can keep a recording from being analysed at all.

use heapwise_trace::file;

/// An error that leaves nothing to report. Damage that leaves something is a [`Warning`](crate::Warning).
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error {
    kind: ErrorKind,
}

/// The kinds of [`Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The stream could not be read.
    #[error("cannot read the recording: {0}")]
    Recording(#[from] file::Error),
    /// What was asked for needs all of it.
    #[error("a part of the recording cannot be read")]
    Incomplete,
}

impl Error {
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind }
    }
}

impl From<file::Error> for Error {
    fn from(error: file::Error) -> Self {
        Self { kind: ErrorKind::Recording(error) }
    }
}
