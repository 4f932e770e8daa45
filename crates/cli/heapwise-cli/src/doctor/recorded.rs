//! The same questions about a program that is recorded, so that the recording says in what environment it was made.

use crate::executable::Executable;
use heapwise_environment::facts::Roots;
use heapwise_environment::{Facts, Finding, Severity, Subject, examine};
use heapwise_trace::file::records::EnvironmentFinding;

/// What our own mappings in recorded processes are called.
const OWN_MAPPINGS: &str = "/memfd:heapwise";

/// What is known before the program starts. Errors are left to the start, which reports them.
pub(crate) fn before(program: &Result<Executable, String>) -> Vec<EnvironmentFinding> {
    let facts = super::inherited(program, &mut Vec::new());
    kept(&Facts { subject: Subject::Own, ..facts })
}

/// What a process has that has just joined the recording. The machine is the same as before.
pub(crate) fn of_process(pid: u32) -> Vec<EnvironmentFinding> {
    let Ok(mut facts) = Roots::default().of_process_itself(pid) else { return Vec::new() };
    facts.libraries.retain(|library| !library.path.to_string_lossy().starts_with(OWN_MAPPINGS));
    let name = facts.process.as_ref().map(|process| process.name.clone()).unwrap_or_default();
    let mut findings = kept(&facts);
    for finding in &mut findings {
        finding.evidence.push(format!("seen in process {pid} ({name})"));
    }
    findings
}

/// Warns of what makes times worthless, before the user waits for them.
pub(crate) fn warn(findings: &[EnvironmentFinding]) {
    for finding in findings.iter().filter(|finding| finding.severity != Severity::Low.id()) {
        heapwise_report::say!("heapwise: warning: {} ({})", finding.title, finding.evidence.join("; "));
        heapwise_report::say!("heapwise:    help: {}", finding.remedy);
    }
}

/// Without notes: only `doctor` shows those.
fn kept(facts: &Facts) -> Vec<EnvironmentFinding> {
    let found = examine(facts).into_iter().filter(|finding| finding.severity > Severity::Note);
    found
        .map(|Finding { check, severity, title, evidence, cost, remedy, fixable: _ }| EnvironmentFinding {
            check: check.into(),
            severity: severity.id().into(),
            title,
            evidence,
            cost,
            remedy,
        })
        .collect()
}
