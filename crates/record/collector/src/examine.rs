//! What slows a process's heap from outside of its code, checked when the process joins.
//!
//! The checks are passed in; this file decides when they run and which results are kept.

use heapwise_trace::file::records::{EnvironmentFinding, ProcessInfo};

/// At most this many processes are checked: each check reads a few files of `/proc`, while rings fill.
const MOST: u32 = 64;

/// Asks about processes.
#[derive(Debug)]
pub struct Examiner {
    ask: fn(u32) -> Vec<EnvironmentFinding>,
    /// Checks and titles.
    known: Vec<(String, String)>,
    asked: u32,
}

impl Examiner {
    /// `ask` returns what slows a process; what was `known` before the start is not kept again.
    pub fn new(ask: fn(u32) -> Vec<EnvironmentFinding>, known: &[EnvironmentFinding]) -> Self {
        let known = known.iter().map(|finding| (finding.check.clone(), finding.title.clone()));
        Self { ask, known: known.collect(), asked: 0 }
    }

    /// Looks at a process that has just joined. A fork has what its parent has.
    pub fn look(&mut self, process: &mut ProcessInfo) {
        if process.forked_from.is_some() || self.asked == MOST {
            return;
        }
        self.asked += 1;
        let mut findings = (self.ask)(process.pid);
        // A check can find several things, of which some were known.
        let is_known = |finding: &EnvironmentFinding| {
            self.known.iter().any(|(check, title)| (check, title) == (&finding.check, &finding.title))
        };
        findings.retain(|finding| !is_known(finding));
        process.environment_findings = findings;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::file::records::ProcessIndex;

    fn finding(title: &str) -> EnvironmentFinding {
        EnvironmentFinding { check: "glibc-tunables".into(), title: title.into(), ..Default::default() }
    }

    fn two(_: u32) -> Vec<EnvironmentFinding> {
        vec![finding("no fast bins"), finding("no thread caches")]
    }

    #[test]
    fn what_was_known_is_not_reported_again_and_forks_are_not_examined() {
        let mut examiner = Examiner::new(two, &[finding("no fast bins")]);
        let mut process = ProcessInfo::default();
        examiner.look(&mut process);
        assert_eq!(process.environment_findings, [finding("no thread caches")]);
        let mut fork = ProcessInfo { forked_from: Some(ProcessIndex(0)), ..ProcessInfo::default() };
        examiner.look(&mut fork);
        assert_eq!(fork.environment_findings, []);
    }
}
