//! Who called: exact stacks, without frame pointers, in a few nanoseconds.
//!
//! * [`rule`]: what the unwind tables say about one address, in 33 bits,
//! * [`cache`]: the rules of all addresses met so far,
//! * [`module`], [`module_log`], [`modules`]: which object file an address belongs to, and the report of it to the collector,
//! * [`elf`]: the headers of an object file in memory,
//! * `given`: such a table that was made outside,
//! * [`cfi`]: reads an object's unwind table when an address is met for the first time,
//! * [`expression`], [`full`]: frames that no short rule describes (signal frames, realigned stacks),
//! * [`memory`]: reads stacks without ever faulting,
//! * [`stack`]: the remembered stack and the incremental walk, `step` by step,
//! * `segments`: the innermost frames of stacks that came before,
//! * `full_walk`: the same without any memory, to compare with.
//!
//! The step from one frame to its caller is a pure function of the return address, the stack pointer, the frame
//! pointer and a few words of the stack. So if a frame of the last stack is met again, and the words from which its
//! callers were computed still hold the same values, then its callers are the same: the walk ends there. This is a
//! proof, not a guess; `HEAPWISE_VERIFY` checks it against [`full`] all the same.

pub mod cache;
pub mod cfi;
pub mod elf;
pub mod expression;
mod frames;
pub mod full;
mod full_walk;
pub(crate) mod given;
pub mod memory;
pub mod module;
pub mod module_log;
pub mod modules;
pub mod rule;
mod segments;
pub mod stack;
mod step;
pub mod tables;
