//! Experiments that show on this machine what an environment does to a heap.
//!
//! A checking heap can make a program many times slower. An [`Experiment`] shows it: it runs the same work under different
//! [`conditions`], each run in a separate process, and returns an [`Outcome`] of tables and sentences. The experiments are a
//! registry, one folder each, listed in [`EXPERIMENTS`]; so are the [`workloads`] and the conditions.
//!
//! The worker is a program that does nothing else: it calls [`worker::work`] and prints what that returns. It alone has the
//! allocator `Switch`, by which it allocates from mimalloc instead of the system's heap where a variable says so.

#[cfg(feature = "worker")]
mod allocator;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod async_server;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod by_allocator;
#[cfg(feature = "trials")]
pub mod conditions;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod contest;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod cross_thread;
#[cfg(feature = "trials")]
mod debug_heap;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod decay;
#[cfg(feature = "trials")]
mod experiment;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod fragmentation;
#[cfg(feature = "trials")]
mod growth;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod habits;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod madvise;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod maps;
#[cfg(feature = "trials")]
mod outcome;
#[cfg(feature = "trials")]
mod registry;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod shootout;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod thp;
mod variable;
#[cfg(all(feature = "trials", target_os = "linux"))]
mod words;
pub mod worker;
pub mod workloads;

pub use crate::statistics::Spread;
#[cfg(feature = "worker")]
pub use allocator::Switch;
#[cfg(feature = "trials")]
pub use experiment::{Error, Experiment, Options};
#[cfg(feature = "trials")]
pub use growth::{Growth, growth};
#[cfg(feature = "trials")]
pub use outcome::{Cell, Column, Outcome, Table};
#[cfg(feature = "trials")]
pub use registry::{EXPERIMENTS, experiment};
pub use variable::ALLOCATOR_VARIABLE;
