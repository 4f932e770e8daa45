//! What is wrong with a candidate, whatever its numbers are.

/// Something that a run did differently from the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// In one sentence.
    pub what: String,
    /// In so many of its runs.
    pub runs: u32,
    pub of: u32,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// A signal ended it that did not end the baseline.
    Crashed,
    /// Another exit code.
    OtherExit,
    /// Another standard output.
    OtherOutput,
    /// It did not end in time.
    TimedOut,
    /// A server did not become ready.
    NotReady,
    /// The load failed, and did not with the baseline.
    LoadFailed,
    /// A run could not be made or not be watched.
    NotRun,
    /// The allocator was not in the process: its numbers are those of another one.
    NotInUse,
}

impl FindingKind {
    /// In a word, for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crashed => "crashed",
            Self::OtherExit => "other-exit",
            Self::OtherOutput => "other-output",
            Self::TimedOut => "timed-out",
            Self::NotReady => "not-ready",
            Self::LoadFailed => "load-failed",
            Self::NotRun => "not-run",
            Self::NotInUse => "not-in-use",
        }
    }
}
