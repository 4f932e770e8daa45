//! The conclusions from all runs.

mod behaviour;
mod numbers;

pub(crate) use behaviour::{Reference, findings, load_failure};
pub(crate) use numbers::{differences, winners};
