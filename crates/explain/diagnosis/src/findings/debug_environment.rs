//! `debug-environment`: something outside of the code slowed the heap while the program was recorded.
//!
//! The checks are those of `heapwise doctor`; what they found is in the recording. What costs
//! much stands before everything else: a time that was measured under a checking heap says little about the program.

use super::{Occurrence, Rule};
use crate::finding::{Certainty, Estimate, Finding, Severity};
use crate::rule_input::RuleInput;
use heapwise_analysis::EnvironmentFinding;

pub(crate) struct DebugEnvironment;

impl Rule for DebugEnvironment {
    fn id(&self) -> &'static str {
        "debug-environment"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let found = input.analysis.environment.iter().filter(|found| severity_of(found).is_some());
        found
            .map(|found| {
                let mut evidence = found.evidence.clone();
                if !found.cost.is_empty() {
                    evidence.push(format!("it costs: {}", found.cost));
                }
                Occurrence {
                    certainty: Certainty::Certain,
                    title: found.title.clone(),
                    place: None,
                    sites: Vec::new(),
                    evidence,
                    estimate: Estimate::default(),
                    remedy: found.remedy.clone(),
                }
            })
            .collect()
    }

    /// What an environment costs is not in the events: the check has weighed it.
    fn severity(&self, input: &RuleInput<'_>, occurrence: &Occurrence<'_>) -> Option<Severity> {
        let found = input.analysis.environment.iter().find(|found| found.title == occurrence.title);
        found.and_then(severity_of)
    }
}

/// Whether a finding puts the numbers of all others in question.
pub(super) fn comes_first(finding: &Finding) -> bool {
    finding.id == DebugEnvironment.id() && finding.severity >= Severity::Medium
}

fn severity_of(found: &EnvironmentFinding) -> Option<Severity> {
    [Severity::Low, Severity::Medium, Severity::High]
        .into_iter()
        .find(|severity| severity.id() == found.severity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Program;

    fn findings(severity: &str) -> Vec<Finding> {
        let mut p = Program::default();
        let stack = p.stack(&["main|/u/src/a.c|7"]);
        p.alloc(stack, 24);
        let mut analysis = p.analysis();
        analysis.environment = vec![EnvironmentFinding {
            check: "malloc-perturb".into(),
            severity: severity.into(),
            title: "each freed block is overwritten".into(),
            evidence: vec!["MALLOC_PERTURB_=1".into()],
            cost: "twice as long".into(),
            remedy: "unset it".into(),
        }];
        crate::testing::all(&analysis)
    }

    #[test]
    fn it_has_the_weight_that_the_check_gave_it() {
        let found = findings("medium");
        assert_eq!((found[0].id, found[0].severity), ("debug-environment", Severity::Medium));
        assert_eq!(found[0].evidence, ["MALLOC_PERTURB_=1", "it costs: twice as long"]);
        assert_eq!(findings("note"), []);
        assert_eq!(findings("whatever a damaged file says"), []);
    }
}
