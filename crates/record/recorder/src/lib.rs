//! What runs inside a recorded program.
//!
//! The hooks ([`hooks`]) call the real allocator and describe each call as an [`Event`](heapwise_trace::event::Event)
//! in the calling thread's ring ([`ring`]), with the id of its stack: [`unwind`] finds the frames and [`trie`] names
//! them. Everything lies in memory that the collector owns ([`session`], [`process`]), so a killed program loses
//! nothing.
//!
//! **The recorder is a guest.** On no path does it
//! * allocate from the program's heap, or take a lock that the program or libc could hold,
//! * panic, unwind or change `errno`,
//! * re-enter itself: [`guard`] turns away what arrives while it is at work,
//! * hide a loss: what could not be recorded is counted.
//!
//! The processor architecture is behind [`arch`] and the operating system behind [`sys`]; nothing else names either.

#![expect(unsafe_code, reason = "calls C, reads registers and shares memory with another process")]
#![cfg_attr(not(test), no_std)]

pub mod address_space;
mod allocator_mappings;
pub mod arch;
mod arena;
pub mod bootstrap;
pub mod confined;
pub mod cxx;
mod describe;
pub mod exit_handshake;
pub mod forward;
pub mod guard;
pub mod hooks;
pub mod image;
pub mod inside;
pub mod large;
pub mod lifecycle;
pub mod loadable;
pub mod lock;
pub mod mappings;
mod mark_names;
pub mod marks;
pub mod nested;
mod node_cache;
mod owned_memory;
mod placement;
pub mod process;
pub mod real;
pub mod region;
pub mod ring;
pub mod sampled;
pub mod sandbox;
pub mod session;
pub mod silence;
pub mod start;
mod stopwatch;
pub mod sys;
#[cfg(test)]
mod tests;
pub mod thread;
pub mod thread_table;
mod traced;
pub mod trie;
pub mod turn;
mod unreached;
pub mod unwind;
pub mod wrapped;
