//! Running a test under as many schedules as there is time for.

#[cfg(loom)]
pub use loom::{sync::Arc, thread};
#[cfg(not(loom))]
pub use std::{sync::Arc, thread};

/// Tries every schedule in which no more than so many times a thread is interrupted that could go on. Nearly all defects need
/// one or two.
#[cfg(loom)]
pub fn explore(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(test);
}

/// Runs it again and again: the schedules are those of the system.
#[cfg(not(loom))]
pub fn explore(_preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
    let rounds = if cfg!(miri) { 2 } else { 60 };
    (0..rounds).for_each(|_| test());
}
