//! Who asked for a block: the return addresses of the calls that led to it.

use super::system;

/// Frames of a stack that are kept, from the innermost on.
pub(super) const MOST_FRAMES: usize = 128;

/// Return addresses, innermost first, those of heapwise's own functions among them: only their names tell which they are, and
/// the writer knows names.
pub(super) struct Stack {
    frames: [usize; MOST_FRAMES],
    len: usize,
}

impl Stack {
    /// The stack of the caller. Allocates nothing that is noted; the thread is busy.
    #[inline(never)]
    pub(super) fn capture() -> Self {
        let mut stack = Self { frames: [0; MOST_FRAMES], len: 0 };
        stack.len = system::capture(&mut stack.frames).min(MOST_FRAMES);
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
