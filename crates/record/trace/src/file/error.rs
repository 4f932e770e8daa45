//! What can be wrong with a recording.

/// An error in reading or writing a recording.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error {
    kind: ErrorKind,
}

/// The kinds of [`Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The stream could not be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file does not begin like a recording.
    #[error("not a heapwise recording (the file does not begin with its signature)")]
    Foreign,
    /// A newer heapwise wrote the file.
    #[error("recording format {found} is newer than this heapwise reads ({supported}.x): update heapwise")]
    TooNew {
        /// Version of the file.
        found: String,
        /// The newest major version that is read.
        supported: u16,
    },
    /// Readers would refuse a section of this size.
    #[error("a section of {bytes} bytes is larger than the format allows")]
    TooLarge {
        /// Bytes of its payload.
        bytes: usize,
    },
    /// A whole section that does not say what its kind must.
    #[error("damaged section at byte {offset}: {what}")]
    Damaged {
        /// Where the section begins.
        offset: u64,
        /// What was expected.
        what: &'static str,
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

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self { kind: ErrorKind::Io(error) }
    }
}
