//! What is known about one function at one address.

use crate::svma::Svma;

/// One function at one address, as far as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The demangled name, at most [`LONGEST_NAME`](crate::LONGEST_NAME) bytes and an ellipsis.
    pub function: Option<String>,
    /// The source file: joined with the directory of compilation and without `.` and `..`.
    pub file: Option<String>,
    /// The line in `file`, counted from one. For a frame into which another was inlined: the line of that call.
    pub line: Option<u32>,
    /// Whether the compiler inlined this function into the next frame. False for the outermost frame of an address,
    /// which is the function that a debugger would call by that name.
    pub inlined: bool,
    /// Where the function begins, for one without a file: a stripped program still has the bounds of its functions.
    pub start: Option<Svma>,
}

impl Frame {
    /// Whether neither a name nor a line is known.
    pub fn is_unknown(&self) -> bool {
        self.function.is_none() && self.file.is_none() && self.line.is_none()
    }
}
