//! The one error type of the crate: what keeps a file from being used at all.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be used. The message names the file, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Repr>);

/// What an [`Error`] is about, for callers that choose between remedies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file does not exist.
    NotFound,
    /// The file cannot be read: permissions, a directory, a device.
    Unreadable,
    /// The file has no bytes.
    Empty,
    /// The file is neither an ELF file nor a script that starts with `#!`.
    NotElf,
    /// The file says that it is an ELF file, but it is truncated or damaged.
    Malformed,
    /// The file is not the one that the process had loaded: it was replaced since.
    Replaced,
    /// A script names an interpreter that is not there, or none at all.
    InterpreterNotFound,
    /// Scripts name each other as interpreters, more of them than the kernel follows.
    TooManyInterpreters,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Repr {
    #[error("{}: no such file", .0.display())]
    NotFound(PathBuf),
    #[error("{}: cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: expected a regular file, found a {found}", path.display())]
    NotRegular { path: PathBuf, found: &'static str },
    #[error("{}: expected an ELF file, found an empty file", .0.display())]
    Empty(PathBuf),
    #[error("{}: expected an ELF file, found a file that starts with {found:?}", path.display())]
    NotElf { path: PathBuf, found: String },
    #[error("{}: damaged or truncated ELF file: {reason}", path.display())]
    Malformed { path: PathBuf, reason: String },
    #[error(
        "{}: the file was replaced after the process had loaded it: expected build id {}, found {}",
        path.display(),
        Hex(expected),
        found.as_deref().map_or("none".to_owned(), |found| Hex(found).to_string())
    )]
    Replaced { path: PathBuf, expected: Vec<u8>, found: Option<Vec<u8>> },
    #[error("{}: the interpreter {interpreter:?} of the script was not found", script.display())]
    InterpreterNotFound { script: PathBuf, interpreter: String },
    #[error("{}: more than {limit} interpreters one after the other", path.display())]
    TooManyInterpreters { path: PathBuf, limit: usize },
}

impl Error {
    /// What the error is about.
    pub fn kind(&self) -> ErrorKind {
        match &*self.0 {
            Repr::NotFound(_) => ErrorKind::NotFound,
            Repr::Unreadable { .. } | Repr::NotRegular { .. } => ErrorKind::Unreadable,
            Repr::Empty(_) => ErrorKind::Empty,
            Repr::NotElf { .. } => ErrorKind::NotElf,
            Repr::Malformed { .. } => ErrorKind::Malformed,
            Repr::Replaced { .. } => ErrorKind::Replaced,
            Repr::InterpreterNotFound { .. } => ErrorKind::InterpreterNotFound,
            Repr::TooManyInterpreters { .. } => ErrorKind::TooManyInterpreters,
        }
    }

    /// The file that the error is about.
    pub fn path(&self) -> &Path {
        match &*self.0 {
            Repr::NotFound(path) | Repr::Empty(path) => path,
            Repr::Unreadable { path, .. }
            | Repr::NotRegular { path, .. }
            | Repr::NotElf { path, .. }
            | Repr::Malformed { path, .. }
            | Repr::Replaced { path, .. }
            | Repr::InterpreterNotFound { script: path, .. }
            | Repr::TooManyInterpreters { path, .. } => path,
        }
    }

    pub(crate) fn from_io(path: &Path, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Repr::NotFound(path.to_owned()).into(),
            _ => Repr::Unreadable { path: path.to_owned(), source }.into(),
        }
    }
}

impl From<Repr> for Error {
    fn from(repr: Repr) -> Error {
        Error(Box::new(repr))
    }
}

/// Bytes as the hexadecimal digits in which build ids are written everywhere.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
