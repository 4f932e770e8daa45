//! The registers that an unwinder follows: the instruction pointer, the stack pointer and the callee-saved ones.

use gimli::{Register, X86_64};

/// Registers of one frame. What a frame does not restore is unknown from there on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Instruction pointer: a return address, but for the innermost frame and below signal frames.
    pub pc: usize,
    /// Stack pointer.
    pub sp: usize,
    /// Frame pointer (rbp).
    pub fp: usize,
    /// rbx, r12, r13, r14, r15; `None` where the value is not known.
    pub saved: [Option<usize>; 5],
}

/// DWARF numbers of [`Registers::saved`].
pub const SAVED: [Register; 5] = [X86_64::RBX, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];
/// DWARF number of the stack pointer.
pub const SP: Register = X86_64::RSP;
/// DWARF number of the frame pointer.
pub const FP: Register = X86_64::RBP;
/// DWARF number of the column that stands for the return address.
pub const RA: Register = X86_64::RA;

impl Registers {
    /// The value of a register by its DWARF number, if it is known.
    pub fn get(&self, register: Register) -> Option<usize> {
        match register {
            SP => Some(self.sp),
            FP => Some(self.fp),
            RA => Some(self.pc),
            other => SAVED.iter().position(|&r| r == other).and_then(|i| self.saved[i]),
        }
    }

    /// The registers that the calling function has when this returns to it.
    #[inline(always)]
    pub fn here() -> Self {
        let mut raw = [0usize; 8];
        // SAFETY: `capture` writes eight words to its argument, which is an array of eight words of ours.
        unsafe { capture(&mut raw) };
        let [pc, sp, fp, rbx, r12, r13, r14, r15] = raw;
        Self { pc, sp, fp, saved: [Some(rbx), Some(r12), Some(r13), Some(r14), Some(r15)] }
    }
}

/// Stores the caller's return address, stack pointer after the return, rbp, rbx and r12 to r15.
#[unsafe(naked)]
unsafe extern "C" fn capture(out: *mut [usize; 8]) {
    core::arch::naked_asm!(
        "mov rax, [rsp]",
        "mov [rdi], rax",
        "lea rax, [rsp + 8]",
        "mov [rdi + 8], rax",
        "mov [rdi + 16], rbp",
        "mov [rdi + 24], rbx",
        "mov [rdi + 32], r12",
        "mov [rdi + 40], r13",
        "mov [rdi + 48], r14",
        "mov [rdi + 56], r15",
        "ret",
    )
}
