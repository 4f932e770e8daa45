//! What an experiment is.

use crate::compare::{Candidate, Unavailable};
use crate::lab::outcome::Outcome;
use crate::lab::worker::WorkerError;
use crate::rounds::Step;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Something that can be tried out.
pub trait Experiment: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in a few words.
    fn about(&self) -> &'static str;

    /// What a person sees by it.
    fn shows(&self) -> &'static str;

    /// The allocators that it runs under if no others are named, as `--with` takes them. `None` if it has no choice of them.
    fn with(&self) -> Option<&'static str> {
        None
    }

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
    /// How much of the articles' numbers is done: 1 is all.
    pub scale: Option<f64>,
    /// The allocators, the system's first, for an experiment that runs under several.
    pub candidates: Vec<Candidate>,
    /// Those that were named and are not there.
    pub unavailable: Vec<Unavailable>,
    /// How many rounds count.
    pub runs: Option<u32>,
    /// Becomes true when it is to end with what it has.
    pub interrupted: Arc<AtomicBool>,
    /// Only these workloads; all if there are none.
    pub workloads: Vec<String>,
    /// Only these conditions and the plain one; all if there are none.
    pub conditions: Vec<String>,
}

impl Options {
    /// Whether it is to end with what it has.
    pub(super) fn are_over(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
impl Options {
    /// Quick ones, with this worker and the system's allocator.
    pub(super) fn testing(worker: &str) -> Self {
        let candidate = Candidate { label: "default".to_owned(), ..Candidate::default() };
        Self {
            worker: worker.into(),
            heapwise: "false".into(),
            quick: true,
            size: None,
            scale: None,
            candidates: vec![candidate],
            unavailable: Vec::new(),
            interrupted: Arc::default(),
            runs: None,
            workloads: Vec::new(),
            conditions: Vec::new(),
        }
    }
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
    /// There is no place for files.
    #[error("cannot make a folder for files of workers in {}: {source}: set TMPDIR to another folder", within.display())]
    Folder {
        /// The folder for temporary files.
        within: PathBuf,
        source: std::io::Error,
    },
    /// It was interrupted before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// A worker with nothing around it failed, so there is nothing to compare with.
    #[error("{workload} cannot be measured under the system's heap: {error}")]
    Plain {
        /// What it was to do.
        workload: &'static str,
        /// What went wrong.
        error: WorkerError,
    },
}
