//! Recording from inside of the program, on any system.
//!
//! Where there is no recorder with shared memory, the program records itself: the wrapper of its allocator calls this
//! crate, which notes which blocks are handed out and freed, and by which code; a separate thread of heapwise writes
//! that to the file, or adds it up in memory ([`profile`]) for a server that shows it. By default it is a *sample*: a block is noted with a probability that grows with its size
//! ([`heapwise_trace::sampling`]), so that walking stacks does not slow the program, and reports show estimates with
//! their errors.
//!
//! ```text
//!  the program's threads                          the writer's thread
//!  sampler.rs   is this block noted?
//!  live.rs   is it a noted one that is freed?
//!  stack.rs  the stack of the request             writer/   epochs, threads, the trie of stacks, sections
//!     └──────► queue.rs ─────────────────────────►          names of what is new in it
//!                                                 or profile/   sums for each stack
//! ```
//!
//! What it promises:
//!
//! - Nothing that heapwise itself allocates is noted: [`local`] knows when a thread is in here.
//! - Memory is bounded. What does not fit is counted as lost, and reports say so. A program that makes events faster than they
//!   can be written is held up for a while first.
//! - Events are in the order in which they happened: a block is noted after it was handed out and before it is freed, and
//!   the queue has one order for all threads.
//! - A child that was forked is not recorded, and does not touch the file.
//! - The file holds whole sections at any time. What is lost when a program is killed are the last moments; names are written
//!   while it runs, too.
//!
//! `HEAPWISE_RECORD_TO=FILE` begins at the process's first call, which is before `main`, perhaps inside of a static
//! initialiser or of Windows' loader. So nothing is waited for there: the file is made, the writer's thread is started and may
//! begin whenever the system lets it. The end is at the process's `exit`, which `main`'s return leads to. Two ways to end
//! pass it by, `abort` everywhere and `std::process::exit` on Windows; what they leave is a recording without an end.

#![deny(unsafe_code)]

mod active;
pub mod environment;
mod events;
mod file;
mod live;
mod local;
mod modules;
mod own;
pub mod profile;
mod queue;
mod sampler;
mod session;
mod stack;
mod state;
mod symbols;
#[expect(unsafe_code, reason = "functions of the operating system")]
mod system;
mod writer;

pub use active::{begin_if_wanted, finish, start};
pub use events::mark;
pub use heapwise_trace::event::{AllocFunction, MarkKind};
pub use heapwise_trace::file::records::EnvironmentFinding;
pub use local::Busy;
pub use modules::Modules;
pub use own::spawn;
pub use stack::MOST_FRAMES;
pub use state::{Hooks, Written};
pub use symbols::{Found, Function, forget_debug_information, look_up};
pub use system::Module;

use std::alloc::Layout;

/// Whether a block of this size is none of the sample, which is so for nearly all. Then nothing is left to do but the call; otherwise [`allocation`]
/// or [`reallocation`] makes it. Refusals of such calls are not noted: this is for profiles, which do not have them.
///
/// PERF: a caller that asks this first needs no frame of its own.
#[inline]
pub fn passes_over(size: usize) -> bool {
    sampler::passes_over(size as u64)
}

/// Whether a block is surely none of the sample. Otherwise [`deallocation`] or [`reallocation`] is to be called.
#[inline]
pub fn is_other(block: *mut u8) -> bool {
    !live::may_have(block)
}

/// Makes the call that allocates, and notes the block if it is one of the sample.
#[inline]
pub fn allocation(layout: &Layout, function: AllocFunction, call: impl FnOnce() -> *mut u8) -> *mut u8 {
    let block = call();
    if block.is_null() {
        events::refused(layout, function);
    } else if sampler::wins(layout.size() as u64) {
        events::allocated(block, layout, function);
    }
    block
}

/// Notes that a block is freed if it is one of the sample, and makes the call.
#[inline]
pub fn deallocation(block: *mut u8, call: impl FnOnce()) {
    // Before the allocator has it back and hands it to another thread.
    if live::may_have(block) {
        events::freed(block);
    }
    call();
}

/// Makes the call that resizes, and notes where the block is afterwards if it was one of the sample or becomes one.
#[inline]
pub fn reallocation(block: *mut u8, layout: &Layout, size: usize, call: impl FnOnce() -> *mut u8) -> *mut u8 {
    // As for a free: the old place may be another thread's before the call returns.
    let is_noted = live::may_have(block) && events::leaves(block);
    let new = call();
    if new.is_null() {
        events::stays(block, layout, size, is_noted);
    } else if sampler::wins(size as u64) {
        events::arrived(new, size);
    }
    new
}
