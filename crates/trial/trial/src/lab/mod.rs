//! Experiments that show on this machine what an environment does to a heap.
//!
//! A checking heap can make a program many times slower. An [`Experiment`] shows it: it runs the same work under different
//! [`conditions`], each run in a separate process, and returns an [`Outcome`] of tables and sentences. The experiments are a
//! registry, one folder each, listed in [`EXPERIMENTS`]; so are the [`workloads`] and the conditions.
//!
//! Whoever runs an experiment is also its worker: the program starts itself with a command that calls [`worker::work`] and
//! prints what that returns. With the feature `switch` the program can have the allocator [`Switch`], by which a worker
//! allocates from mimalloc instead of the system's heap.

#[cfg(feature = "switch")]
mod allocator;
pub mod conditions;
mod debug_heap;
mod experiment;
mod growth;
mod outcome;
mod registry;
pub mod worker;
pub mod workloads;

pub use crate::statistics::Spread;
#[cfg(feature = "switch")]
pub use allocator::{ALLOCATOR_VARIABLE, Switch};
pub use experiment::{Error, Experiment, Options};
pub use growth::{Growth, growth};
pub use outcome::{Cell, Column, Outcome, Table};
pub use registry::{EXPERIMENTS, experiment};
