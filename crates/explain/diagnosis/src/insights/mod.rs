//! The registry of insights: one file each, and one table that lists them.
//!
//! A rule checks a [`RuleInput`] and returns what it found as [`Finding`]s. How much they matter and how they become an
//! [`Insight`] is the same for all and is done here. Of the rules about the same kind of call only one reports: each is
//! about other purposes ([`What`](crate::purpose::Purpose)) or about the other side of a condition.

mod clone_of_owned;
mod clone_per_lookup;
mod cross_thread_free;
mod debug_environment;
mod escaped_values;
mod growth;
mod leak_suspect;
mod owned_deserialization;
mod pinning;
mod read_per_item;
mod retention;
mod reuse_in_loop;
mod rounding_waste;
mod slow_hasher;
mod small_boxes;
mod temporary_collection;

use crate::foreign::InForeignCode;
use crate::insight::{Certainty, Estimate, Insight, Severity};
use crate::rule_input::{Part, Place, RuleInput};
use crate::source::LineOf;
use crate::weigh::severity;
use heapwise_analysis::{Analysis, Bytes, SiteId};
use std::cmp::Reverse;

/// Something that can be wrong with a program's use of the heap.
pub(crate) trait Rule: Sync {
    /// Its name, which is that of its insights.
    fn id(&self) -> &'static str;

    /// Finds all occurrences.
    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Finding<'a>>;

    /// What becomes of a finding in code that the reader cannot change.
    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Silent
    }

    /// Whether it judges memory as a whole, and so says nothing if much of that is unrecorded.
    fn needs_all_memory(&self) -> bool {
        false
    }

    /// How much a finding matters, `None` if not at all: by what it would save.
    fn severity(&self, input: &RuleInput<'_>, finding: &Finding<'_>) -> Option<Severity> {
        severity(input, finding.place, &finding.estimate)
    }
}

/// What a rule found.
pub(crate) struct Finding<'a> {
    pub(crate) certainty: Certainty,
    pub(crate) title: String,
    pub(crate) place: Option<&'a Place<'a>>,
    /// The site with the largest share first.
    pub(crate) sites: Vec<SiteId>,
    pub(crate) evidence: Vec<String>,
    pub(crate) estimate: Estimate,
    pub(crate) remedy: String,
}

/// All rules.
const RULES: &[&dyn Rule] = &[
    &clone_of_owned::CloneOfOwned,
    &clone_per_lookup::ClonePerLookup,
    &cross_thread_free::CrossThreadFree,
    &debug_environment::DebugEnvironment,
    &escaped_values::EscapedValues,
    &growth::Growth,
    &leak_suspect::LeakSuspect,
    &owned_deserialization::OwnedDeserialization,
    &pinning::Pinning,
    &read_per_item::ReadPerItem,
    &retention::Retention,
    &reuse_in_loop::ReuseInLoop,
    &rounding_waste::RoundingWaste,
    &slow_hasher::SlowHasher,
    &small_boxes::SmallBoxes,
    &temporary_collection::TemporaryCollection,
];

/// Most insights that are reported: more would not be read.
const MOST: usize = 10;

/// Everything that was found, the most rewarding first. If much is unrecorded, rules that need all memory find nothing, and
/// those that would have are added to `withheld`.
pub(crate) fn all(
    analysis: &Analysis,
    lines: &LineOf<'_>,
    is_much_unrecorded: bool,
    withheld: &mut Vec<&'static str>,
) -> Vec<Insight> {
    let input = RuleInput::new(analysis, lines);
    let mut found: Vec<Insight> = Vec::new();
    for rule in RULES {
        let findings = rule.find(&input).into_iter();
        let mut insights = findings.filter_map(|finding| weighed(&input, *rule, finding)).peekable();
        if is_much_unrecorded && rule.needs_all_memory() {
            withheld.extend(insights.peek().map(|_| rule.id()));
        } else {
            found.extend(insights);
        }
    }
    // Names decide between equals, so that the same recording gives the same report.
    found.sort_by(|a, b| {
        let key = |i: &Insight| {
            let rewards = (i.severity, i.estimate.time, i.certainty, i.estimate.allocated_bytes);
            Reverse((debug_environment::comes_first(i), rewards))
        };
        key(a).cmp(&key(b)).then_with(|| (a.id, &a.title).cmp(&(b.id, &b.title)))
    });
    found.truncate(MOST);
    found
}

fn weighed(input: &RuleInput<'_>, rule: &dyn Rule, finding: Finding<'_>) -> Option<Insight> {
    let severity = rule.severity(input, &finding)?;
    let Finding { certainty, title, place, sites, evidence, estimate, remedy } = finding;
    let (severity, remedy) = match place.and_then(|place| place.foreign.as_ref()) {
        None => (severity, remedy),
        // What others have to change is nothing to begin with.
        Some(foreign) => (severity.min(Severity::Medium), foreign.remedy(rule.in_foreign_code())?),
    };
    Some(Insight {
        id: rule.id(),
        severity,
        certainty,
        title,
        site: sites.first().copied(),
        sites,
        evidence,
        estimate,
        remedy,
    })
}

/// The estimate for a part that would be gone altogether, but for `left` requests.
fn without(part: &Part<'_>, left: u64) -> Estimate {
    let requests = part.requests();
    let share = |n: u64| {
        (u128::from(n) * u128::from(requests.saturating_sub(left)) / u128::from(requests.max(1))) as u64
    };
    Estimate {
        allocations: requests.saturating_sub(left),
        allocated_bytes: Bytes(share(part.bytes)),
        peak_bytes: Bytes(0),
        time: heapwise_analysis::Nanos(share(part.time().0)),
    }
}
