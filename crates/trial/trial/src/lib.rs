//! Tries allocators and settings instead of guessing.
//!
//! * [`compare`]: a program itself, under one allocator after the other;
//! * [`replay`]: a recording's allocations, made again under any allocator;
//! * [`tune`]: the search for what suits a program, by both;
//! * [`lab`]: experiments that show on this machine what an environment or an allocator does;
//! * [`supervise`]: programs are started, watched, waited for and ended;
//! * [`rounds`]: in which order they take turns;
//! * [`statistics`]: statistics of numbers that were measured a few times on a busy machine.
//!
//! All this needs the feature `trials`. The feature `worker` alone is what the program that experiments start is built with.

#![deny(unsafe_code)]

#[cfg(feature = "trials")]
pub mod compare;
pub mod lab;
#[cfg(all(feature = "trials", target_os = "linux"))]
pub mod replay;
#[cfg(feature = "trials")]
pub mod rounds;
pub mod statistics;
#[cfg(feature = "trials")]
pub mod supervise;
#[cfg(all(feature = "trials", target_os = "linux"))]
pub mod tune;
