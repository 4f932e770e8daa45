//! What a thread is at a moment.

/// The registers of a thread.
pub(crate) type Registers = libc::user_regs_struct;

/// The number that the kernel keeps for a stop that is not at a system call: nothing is to be made again.
pub(super) const NO_CALL: u64 = u64::MAX;

/// What a thread was before it worked for us.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) registers: Registers,
    /// The registers for numbers and vectors.
    pub(crate) vectors: Vec<u8>,
    /// Signals that it holds back.
    pub(crate) mask: u64,
}
