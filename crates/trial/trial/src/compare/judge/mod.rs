//! What can be said when all runs are made.

mod behaviour;
mod numbers;

pub(crate) use behaviour::{Reference, findings, load_failure};
pub(crate) use numbers::{differences, winners};
