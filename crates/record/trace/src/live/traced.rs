//! How a recorded process asks to be traced, right before it executes a program into which nothing can be preloaded.
//!
//! It takes a free [`Request`] of the session, says which thread it is, and waits for a moment. The collector has that thread traced
//! until it, or a process that it starts meanwhile, has executed the program, and has the recorder written into that.

use super::atomics::AtomicU32;

/// Requests that can be open at the same time. Who finds none goes on untraced.
pub const MOST_REQUESTS: usize = 16;

/// A request.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Request {
    /// See [`state`]; a futex.
    pub state: AtomicU32,
    /// The process, as the collector knows it.
    pub process: AtomicU32,
    /// The thread, as the collector knows it.
    pub thread: AtomicU32,
    /// Zero.
    pub reserved: AtomicU32,
}

/// States of a [`Request`].
pub mod state {
    /// None has it.
    pub const FREE: u32 = 0;
    /// A thread fills it in.
    pub const TAKEN: u32 = 1;
    /// It is filled in, and the thread waits.
    pub const ASKED: u32 = 2;
    /// The thread is traced, and may go on.
    pub const TRACED: u32 = 3;
    /// It is not.
    pub const REFUSED: u32 = 4;
}
