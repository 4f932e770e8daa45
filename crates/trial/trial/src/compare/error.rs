//! What keeps a comparison from being made at all.

use std::io;

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such program.
    #[error("command not found: {program}")]
    NoSuchProgram {
        /// As it was given.
        program: String,
    },
    /// The program is there and cannot be started.
    #[error("{program} cannot be executed: {reason}")]
    NotExecutable {
        /// As it was given.
        program: String,
        reason: io::Error,
    },
    /// The file for standard input cannot be read.
    #[error("cannot read {path} for standard input: {reason}")]
    Stdin {
        /// The file.
        path: String,
        reason: io::Error,
    },
    /// What the program does without any help is already a failure.
    #[error("the baseline {what}; nothing can be compared with that{hint}")]
    Baseline {
        /// What it did.
        what: String,
        /// What to do, behind a semicolon.
        hint: String,
    },
    /// No other allocator can be put into what the program turned out to be.
    #[error("{reason}")]
    Refused {
        /// Why not, and what to do.
        reason: String,
    },
    /// There is nothing to compare with.
    #[error("no allocator is left to compare with: {reasons}")]
    NoCandidate {
        /// Why each cannot take part.
        reasons: String,
    },
    /// It was interrupted before anything was measured.
    #[error("interrupted before the first round was over: there is nothing to show")]
    Interrupted,
    /// The system refused something that measuring needs.
    #[error("cannot {what}: {reason}")]
    System {
        /// What was tried.
        what: &'static str,
        reason: io::Error,
    },
}

#[cfg(target_os = "linux")]
impl Error {
    /// What it means for one run of many.
    pub(crate) fn of_a_run(&self) -> String {
        match self {
            Self::Baseline { what, .. } => format!("it {what}"),
            other => other.to_string(),
        }
    }
}
