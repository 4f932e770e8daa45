//! What a recording does not know of itself.

use heapwise_analysis::Analysis;
use heapwise_diagnosis::lasting_program;

/// Which service was recorded, and which release of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// What recordings are grouped by.
    pub service: String,
    /// What its releases are compared by; empty if it is not known.
    pub release: String,
}

impl Labels {
    /// The labels that are given, or else the name of the program for the service.
    pub fn new(analysis: &Analysis, service: Option<&str>, release: Option<&str>) -> Self {
        let program = analysis.meta.command.first().map_or("", |path| lasting_program(path));
        let program = if program.is_empty() { "unknown" } else { program };
        Self {
            service: service.unwrap_or(program).to_owned(),
            release: release.unwrap_or_default().to_owned(),
        }
    }
}
