//! Errors and the exit codes that they end with: those of `heapwise`.

/// An option's value is invalid.
pub(crate) const USAGE: u8 = 2;
/// Something could not be read and was left out.
pub(crate) const UNREADABLE: u8 = 4;
/// The user interrupted it.
pub(crate) const INTERRUPTED: u8 = 130;
/// Anything else.
const UNEXPECTED: u8 = 1;

/// An error and the exit code that it ends with.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: anyhow::Error,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn new(code: u8, error: anyhow::Error) -> Self {
        Self { error, code }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(UNEXPECTED, error.into())
    }
}
