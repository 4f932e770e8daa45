//! A walk by the general unwinder alone, which knows nothing of rules and of stacks that were there before.

use super::frames::Fresh;
use super::full::{self, FullFrame, Next};
use super::memory::{StackMemory, Stacks};
use super::step::from_full;
use crate::arch::registers::Registers;

/// A full unwind from inside the recorder, whose own frames are skipped.
pub(super) struct FullWalk {
    current: Option<FullFrame>,
    memory: StackMemory,
    whole: bool,
    given: usize,
}

/// The recorder's own frames between a capture and the entry point.
const MOST_OWN_FRAMES: usize = 32;

impl FullWalk {
    /// Begins at the frame of this stack pointer and return address.
    #[inline(always)]
    pub(super) fn from_here(first_sp: usize, first_pc: usize, memory: StackMemory) -> Self {
        let regs = Registers::here();
        // SAFETY: from this function's own stack pointer on, the stack is mapped and in use.
        let own = unsafe { StackMemory::new(regs.sp, memory.high()) };
        let mut frame = FullFrame { regs, exact: false };
        for _ in 0..MOST_OWN_FRAMES {
            if frame.regs.sp == first_sp && frame.regs.pc == first_pc {
                return Self { current: Some(frame), memory, whole: false, given: 0 };
            }
            match full::step(&frame, &own) {
                Next::Caller(caller) => frame = caller,
                _ => break,
            }
        }
        Self { current: None, memory, whole: false, given: 0 }
    }

    /// The next frame outwards; at the end, whether the stack is whole.
    pub(super) fn next_frame(&mut self, stacks: &mut Stacks) -> Result<Fresh, bool> {
        let Some(frame) = self.current else { return Err(self.whole) };
        self.given += 1;
        let next = match full::step(&frame, &self.memory) {
            Next::Caller(caller) => Some(caller),
            Next::Outermost => {
                self.whole = true;
                None
            }
            Next::Lost | Next::NeedsRegisters => None,
            Next::NotAFrame if self.given > 1 => {
                self.current = None;
                return Err(false);
            }
            Next::NotAFrame => None,
        };
        self.current = next;
        if let Some(caller) = next
            && caller.exact
            && !self.memory.contains(caller.regs.sp)
        {
            match stacks.interrupted(caller.regs.sp) {
                Some(memory) => self.memory = memory,
                None => self.current = None,
            }
        }
        Ok(from_full(&frame))
    }
}
