//! Frames: those of the last stack with what proves them, and those that a walk finds.

use heapwise_trace::live::node::{ADDRESS_MASK, EXACT_PC};

/// One frame of the last stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Remembered {
    /// The frame's stack pointer when its callee returns. The return address lies right below it.
    pub(super) sp: usize,
    /// The node key: return address, or interrupted instruction with [`EXACT_PC`].
    pub(super) key: u64,
    /// The frame's frame-pointer register.
    pub(super) fp: usize,
    /// The frame's node in the trie.
    pub(super) node: u32,
    /// How many of the checks belong to the frames outside of this one.
    pub(super) outer_checks: u32,
}

/// A word of the stack from which a frame was computed, and what it said.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Check {
    pub(super) at: usize,
    pub(super) value: usize,
}

/// A frame that the walk at work has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Fresh {
    pub(super) sp: usize,
    pub(super) key: u64,
    pub(super) fp: usize,
    /// Where `fp` was loaded from, 0 if the callee left the register alone, [`UNPROVABLE`] if the frame was not found
    /// by a short rule.
    pub(super) fp_slot: usize,
    /// Whether the step to the caller needs the frame pointer.
    pub(super) fp_use: FpUse,
}

/// See [`Fresh`].
pub(super) const UNPROVABLE: usize = usize::MAX;

/// What the step from a frame to its caller does with the frame pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FpUse {
    /// Uses it.
    #[default]
    Needed,
    /// Hands it to the caller.
    Passed,
    /// Replaces it with one from the stack.
    Replaced,
}

/// Added to the key of a frame whose frame pointer makes no difference, so that comparing it can be left out.
/// Compilers use the register for other values, which differ from call to call.
pub(super) const FP_DEAD: u64 = 1 << 60;

impl Fresh {
    pub(super) fn pc(&self) -> usize {
        (self.key & ADDRESS_MASK) as usize
    }

    pub(super) fn exact(&self) -> bool {
        self.key & EXACT_PC != 0
    }

    /// A frame with this stack pointer, for tests.
    #[cfg(test)]
    pub(super) fn at(sp: usize) -> Self {
        Self { sp, ..Self::default() }
    }
}
