//! What a finding says.

use heapwise_analysis::{Bytes, Nanos, SiteId};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Low,
    /// Worth a change when the place is touched anyway.
    Medium,
    /// Change this first.
    High,
}

impl Severity {
    /// Its name in reports for machines.
    pub fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The events fit, and other causes would look the same.
    Hint,
    /// Other causes are unlikely.
    Likely,
    /// The events prove it.
    Certain,
}

impl Certainty {
    /// Its name in reports for machines.
    pub fn id(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// What following a remedy would save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Allocations that would not happen.
    pub allocations: u64,
    /// Reallocations that would not happen.
    pub reallocations: u64,
    /// Requested bytes that would be saved.
    pub allocated_bytes: Bytes,
    /// Bytes that would not be resident at the peak.
    pub peak_bytes: Bytes,
    /// Time in the allocator, and for copying, that would be saved: by a model of what calls cost, and by the calls of these sites
    /// that were measured.
    pub time: Nanos,
}

impl Estimate {
    /// Allocations and reallocations together.
    pub fn requests(&self) -> u64 {
        self.allocations.saturating_add(self.reallocations)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which rule found it: `growth`, `clone-of-owned`.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub certainty: Certainty,
    /// One line: what is wrong, and where.
    pub title: String,
    /// The call site with the largest share in it.
    pub site: Option<SiteId>,
    /// All call sites that it is about, the first included.
    pub sites: Vec<SiteId>,
    /// What was seen, with counts; a sentence each.
    pub evidence: Vec<String>,
    pub estimate: Estimate,
    /// What to do, in the words of the program's language; a line of code each where that helps.
    pub remedy: String,
}
