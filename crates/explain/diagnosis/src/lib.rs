//! From tables to findings: what is wrong with a program's use of the heap, where, and what to do about it.
//!
//! Pure: an [`Analysis`] in, a [`Diagnosis`] out. A *finding* is one problem with its evidence, an estimate of what it
//! costs, a remedy, and how sure it is. The *verdict* says in one sentence what resident memory consists of.
//!
//! One key decision: a finding that is not there is better than one that is wrong. Each rule has a program that has the
//! defect and a twin that does not, and is silent on the twin.

#![forbid(unsafe_code)]

mod alike;
mod allocator;
pub mod compare;
mod cost;
mod finding;
mod findings;
mod foreign;
mod idle;
mod line_costs;
pub mod name;
mod purpose;
mod rule_input;
mod source;
mod survival;
#[cfg(test)]
mod testing;
mod unseen;
mod verdict;
mod weigh;

pub use compare::{Comparison, Threshold, compare};
pub use compare::{is_program, lasting_function, lasting_module, lasting_program};
pub use cost::{of_pages_again as time_of_pages_again, of_site as estimated_time};
pub use finding::{Certainty, Estimate, Finding, Severity};
pub use heapwise_analysis::units;
pub use line_costs::{Costs, FileCosts, costs_by_file};
pub use name::without_hash;
pub use rule_input::ENOUGH_SAMPLES;
pub use source::LineOf;
pub use unseen::{Unseen, is_unused, unseen};
pub use verdict::{Verdict, VerdictKind};

use heapwise_analysis::Analysis;
use source::NO_LINES;

/// What is to be said about a recording.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Findings, the most rewarding first.
    pub findings: Vec<Finding>,
    /// What resident memory consists of, if pages were measured; or why that cannot be said.
    pub verdict: Option<Verdict>,
    /// What was not recorded of the program's memory.
    pub unseen: Option<Unseen>,
    /// What would be said if that were recorded, and is not: names of rules, and `verdict`.
    pub withheld: Vec<&'static str>,
}

/// Whether the program held mostly unused memory for a good part of its run, and still did at the end; `false` where pages were not
/// looked at.
pub fn holds_unused_memory(analysis: &Analysis) -> bool {
    let accounting = &analysis.accounting;
    let Some(peak) = &accounting.at_peak else { return false };
    idle::idles(analysis, peak, accounting.at_end.as_ref().unwrap_or(peak))
}

/// Looks for all known problems with heaps.
pub fn diagnose(analysis: &Analysis) -> Diagnosis {
    diagnose_with_source(analysis, NO_LINES)
}

/// The same with the source that the program was built from, for advice in the words of a line.
pub fn diagnose_with_source(analysis: &Analysis, lines: &LineOf<'_>) -> Diagnosis {
    let unseen = unseen(analysis);
    let verdict = verdict::verdict(analysis, unseen.as_ref());
    let mut withheld = Vec::new();
    if verdict.as_ref().is_some_and(|verdict| verdict.kind == VerdictKind::Unrecorded) {
        withheld.push("verdict");
    }
    let is_much = unseen.as_ref().is_some_and(|unseen| unseen.is_much);
    let findings = findings::all(analysis, lines, is_much, &mut withheld);
    Diagnosis { findings, verdict, unseen, withheld }
}
