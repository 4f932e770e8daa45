//! What resident memory consists of, in one sentence, and what to do about it.

use heapwise_analysis::Analysis;

/// What dominates resident memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictKind {
    /// Live bytes, which were still rising.
    Growth,
    /// Live bytes.
    Live,
    /// What the allocator adds to each request.
    Rounding,
    /// Free bytes between live blocks.
    Fragmentation,
    /// Pages without a live block that were not given back.
    Retention,
    /// The allocator's own pages.
    Metadata,
    /// Memory that the heap has nothing to do with.
    NotHeap,
}

impl VerdictKind {
    /// Its name in reports for machines.
    pub fn id(self) -> &'static str {
        match self {
            Self::Growth => "growth",
            Self::Live => "live",
            Self::Rounding => "rounding",
            Self::Fragmentation => "fragmentation",
            Self::Retention => "retention",
            Self::Metadata => "metadata",
            Self::NotHeap => "not-heap",
        }
    }
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What dominates.
    pub kind: VerdictKind,
    /// One sentence with numbers.
    pub sentence: String,
    /// What to do.
    pub remedy: String,
}

pub(crate) fn verdict(analysis: &Analysis) -> Option<Verdict> {
    let _ = analysis.accounting.at_peak.as_ref()?;
    None
}
