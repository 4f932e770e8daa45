//! What heapwise's exit codes mean. `heapwise run` ends with the program's own code (128 plus the signal if one ended
//! it), unless heapwise itself failed.

/// All went well.
pub(crate) const SUCCESS: u8 = 0;
pub(crate) const UNEXPECTED: u8 = 1;
/// An option's value is invalid. Usage errors that clap finds end with the same code.
pub(crate) const USAGE: u8 = 2;
/// `diff`: a threshold is exceeded.
pub(crate) const EXCEEDED: u8 = 3;
/// `doctor`: something slows the heap. `compare`: a program did not do the same.
pub(crate) const FOUND: u8 = 3;
/// `allocators` and `compare`: a candidate cannot be used.
#[cfg(target_os = "linux")]
pub(crate) const UNUSABLE: u8 = 3;
/// A recording cannot be read: missing, foreign, damaged or too new.
pub(crate) const UNREADABLE: u8 = 4;
/// `run` and `launch`: heapwise itself failed, or could not keep the whole recording.
pub(crate) const RUN_FAILED: u8 = 125;
/// `run` and `launch`: the program exists and cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// `run` and `launch`: command not found.
pub(crate) const NO_SUCH_PROGRAM: u8 = 127;
/// `run`: the user interrupted heapwise twice. `compare`, `lab`: once.
pub(crate) const INTERRUPTED: u8 = 130;
