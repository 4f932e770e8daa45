//! What an experiment is.

use crate::lab::outcome::Outcome;
use crate::lab::worker::WorkerError;
use crate::rounds::Step;
use std::path::PathBuf;

/// Something that can be tried out.
pub trait Experiment: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in a few words.
    fn about(&self) -> &'static str;

    /// What a person sees by it.
    fn shows(&self) -> &'static str;

    /// Runs the experiment. `progress` is called before each step.
    ///
    /// # Errors
    ///
    /// If an option names something that is not there, or if not even the plain case can be measured.
    fn run(&self, options: &Options, progress: &mut dyn FnMut(&Step)) -> Result<Outcome, Error>;
}

/// How to do an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that is started as worker.
    pub worker: PathBuf,
    /// The program `heapwise`, for conditions that need another process around the worker.
    pub heapwise: PathBuf,
    /// Small sizes and few rounds: to see that it works, not how much it is.
    pub quick: bool,
    /// The largest size, in entries of the map or words of the text.
    pub size: Option<u64>,
    /// How many rounds count.
    pub runs: Option<u32>,
    /// Only these workloads; all if there are none.
    pub workloads: Vec<String>,
    /// Only these conditions and the plain one; all if there are none.
    pub conditions: Vec<String>,
}

/// Why an experiment cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no workload or condition of this name.
    #[error("unknown {kind} {name}; there are: {known}")]
    Unknown {
        /// What it is not.
        kind: &'static str,
        /// The requested name.
        name: String,
        /// The names that exist.
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
