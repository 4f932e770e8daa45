//! The shelf of experiments: what one is, and the table that lists them.

use crate::lab::debug_heap::DebugHeap;
use crate::lab::outcome::Outcome;
use crate::lab::worker::WorkerError;
use std::path::PathBuf;

/// All that are known.
pub const EXPERIMENTS: &[&dyn Experiment] = &[&DebugHeap];

/// Something that can be tried out.
pub trait Experiment: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in a few words.
    fn about(&self) -> &'static str;

    /// What a person sees by it.
    fn shows(&self) -> &'static str;

    /// Does it. `progress` hears of each step before it begins.
    ///
    /// # Errors
    ///
    /// If an option names something that is not there, or if not even the plain case can be measured.
    fn run(&self, options: &Options, progress: &mut dyn FnMut(&Step)) -> Result<Outcome, Error>;
}

/// How to do an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that is started as worker, and the arguments in front of those of the worker.
    pub program: PathBuf,
    /// See [`Options::program`].
    pub arguments: Vec<String>,
    /// Small sizes and few rounds: to see that it works, not how much it is.
    pub quick: bool,
    /// The largest size, in entries of the map or words of the text.
    pub size: Option<u64>,
    /// How many rounds count.
    pub runs: Option<u32>,
    /// Only these workloads; all if there are none.
    pub workloads: Vec<String>,
    /// Only these conditions beside the plain one; all if there are none.
    pub conditions: Vec<String>,
}

/// Where an experiment is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done now.
    pub what: String,
    /// So many steps are done.
    pub done: u64,
    /// Of so many.
    pub total: u64,
}

/// Why an experiment cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no workload or condition of this name.
    #[error("there is no {kind} called {name}; there are: {known}")]
    Unknown {
        /// What it is not.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What could be asked for.
        known: String,
    },
    /// An option cannot be what it is.
    #[error("{0}")]
    Usage(String),
    /// A worker of the plain condition failed, so there is nothing to compare with.
    #[error("{workload} cannot be measured without any checking heap: {error}")]
    Plain {
        /// What it was to do.
        workload: &'static str,
        /// What went wrong.
        error: WorkerError,
    },
}

/// The experiment of a name.
pub fn experiment(name: &str) -> Option<&'static dyn Experiment> {
    EXPERIMENTS.iter().copied().find(|experiment| experiment.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<_> = EXPERIMENTS.iter().map(|e| e.name()).collect();
        assert_eq!(names.len(), EXPERIMENTS.len());
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        assert!(
            EXPERIMENTS.iter().all(|e| experiment(e.name()).is_some_and(|found| found.about() == e.about()))
        );
        assert!(experiment("nothing").is_none());
    }
}
