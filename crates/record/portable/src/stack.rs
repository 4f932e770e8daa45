//! The stack of a request: the return addresses of the calls that led to it.

use super::system;

/// Frames of a stack that are kept, from the innermost on.
pub const MOST_FRAMES: usize = 128;

/// Return addresses, innermost first. Those of heapwise's own functions are among them: they are recognised by their
/// names, which only the writer knows.
pub(super) struct Stack {
    frames: [usize; MOST_FRAMES],
    len: usize,
}

impl Stack {
    /// The stack of the caller. Allocates nothing that is noted; the thread is busy.
    #[inline(never)]
    pub(super) fn capture() -> Self {
        let mut stack = Self { frames: [0; MOST_FRAMES], len: 0 };
        let len = system::capture(&mut stack.frames).min(MOST_FRAMES);
        // Some systems, and Wine, mark the end of a stack by a caller at zero.
        stack.len = stack.frames[..len].iter().position(|frame| *frame == 0).unwrap_or(len);
        stack
    }

    /// No frames, for events that need none.
    pub(super) fn none() -> Self {
        Self { frames: [0; MOST_FRAMES], len: 0 }
    }

    pub(super) fn frames(&self) -> &[usize] {
        &self.frames[..self.len]
    }
}
