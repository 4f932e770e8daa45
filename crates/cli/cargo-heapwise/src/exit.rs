//! What the exit codes mean: those of the program `heapwise`, and what cargo and the program itself end with.

/// All went well.
pub(crate) const SUCCESS: u8 = 0;
/// Something unexpected; `bench`: no benchmark measured its heap.
pub(crate) const UNEXPECTED: u8 = 1;
/// An option's value is invalid. Usage errors that clap finds end with the same code.
pub(crate) const USAGE: u8 = 2;
/// `bench`: a benchmark needs more than in the baseline.
pub(crate) const REGRESSION: u8 = 3;
/// `bench`: the baseline cannot be read: missing, damaged or too new.
pub(crate) const UNREADABLE: u8 = 4;
/// A program that is needed, `heapwise` or cargo, is not there.
pub(crate) const NO_SUCH_PROGRAM: u8 = 127;
