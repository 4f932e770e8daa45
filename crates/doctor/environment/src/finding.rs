//! What a check reports.

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is slow because of it, but it looks as if it did something. Not counted as a finding by exit codes.
    Note,
    /// Costs some percent, or matters to some programs only.
    Low,
    /// Makes the heap up to a few times slower or larger: measurements are not to be trusted.
    Medium,
    /// Makes the heap many times slower.
    High,
}

impl Severity {
    /// Its name in reports.
    pub fn id(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Something that slows a heap from outside the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which check found it, such as `malloc-check`.
    pub check: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One line: what is so.
    pub title: String,
    /// Where that can be seen; a line each. Of the environment it has heap variables only.
    pub evidence: Vec<String>,
    /// What it costs, and where that figure comes from. Empty if it was not measured.
    pub cost: String,
    pub remedy: String,
    /// Whether `heapwise doctor --fix` can do it.
    pub fixable: bool,
}

impl Finding {
    /// A finding with its essentials; evidence and cost are added by [`Self::because`] and [`Self::costs`].
    pub fn new(
        check: &'static str,
        severity: Severity,
        title: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            check,
            severity,
            title: title.into(),
            evidence: Vec::new(),
            cost: String::new(),
            remedy: remedy.into(),
            fixable: false,
        }
    }

    /// Adds a line of evidence.
    #[must_use]
    pub fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// Says what it costs.
    #[must_use]
    pub fn costs(mut self, cost: impl Into<String>) -> Self {
        self.cost = cost.into();
        self
    }
}
