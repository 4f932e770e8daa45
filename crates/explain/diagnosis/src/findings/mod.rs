//! The registry of findings: one file each, and one table that lists them.
//!
//! A rule checks a [`RuleInput`] and returns [`Occurrence`]s. How much they matter and how they become a [`Finding`] is the
//! same for all and is done here. Of the rules about the same kind of call only one reports: each is
//! about other purposes ([`Purpose`](crate::purpose::Purpose)) or about the other side of a condition.

mod clone_of_owned;
mod clone_per_lookup;
mod cross_thread_free;
mod debug_environment;
mod escaped_values;
mod free_pages;
mod growth;
mod internal_fragmentation;
mod leak_suspect;
mod new_pages;
mod owned_deserialization;
mod pinning;
mod read_per_item;
mod reuse_in_loop;
mod slow_hasher;
mod small_boxes;
mod temporary_box;
mod temporary_collection;

use crate::alike;
use crate::cost::{Work, correction, of_work};
use crate::finding::{Certainty, Estimate, Finding, Severity};
use crate::foreign::InForeignCode;
use crate::rule_input::{Part, Place, RuleInput};
use crate::source::LineOf;
use crate::weigh::severity;
use heapwise_analysis::{Analysis, Bytes, SiteId};
use std::cmp::Reverse;

/// Something that can be wrong with a program's use of the heap.
pub(crate) trait Rule: Sync {
    /// Its name, which is that of its findings.
    fn id(&self) -> &'static str;

    /// Finds all occurrences.
    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>>;

    /// What becomes of an occurrence in code that the reader cannot change.
    fn in_foreign_code(&self) -> InForeignCode {
        InForeignCode::Silent
    }

    /// Whether it judges memory as a whole, and so says nothing if much of that is unrecorded.
    fn needs_all_memory(&self) -> bool {
        false
    }

    /// Whether the time that it saves is time in calls of the allocator, which was measured.
    fn takes_time_in_calls(&self) -> bool {
        true
    }

    /// How much an occurrence matters, `None` if not at all: by what it would save.
    fn severity(&self, input: &RuleInput<'_>, occurrence: &Occurrence<'_>) -> Option<Severity> {
        severity(input, occurrence.place, &occurrence.sites, &occurrence.estimate)
    }
}

/// What a rule found in one place, not yet weighed.
pub(crate) struct Occurrence<'a> {
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
    &new_pages::NewPages,
    &owned_deserialization::OwnedDeserialization,
    &pinning::Pinning,
    &read_per_item::ReadPerItem,
    &free_pages::FreePages,
    &reuse_in_loop::ReuseInLoop,
    &internal_fragmentation::InternalFragmentation,
    &slow_hasher::SlowHasher,
    &small_boxes::SmallBoxes,
    &temporary_box::TemporaryBox,
    &temporary_collection::TemporaryCollection,
];

/// Most findings that are reported: more would not be read.
const MOST: usize = 10;

/// Everything that was found, the most rewarding first. If much is unrecorded, rules that need all memory find nothing, and
/// those that would have are added to `withheld`.
pub(crate) fn all(
    analysis: &Analysis,
    lines: &LineOf<'_>,
    is_much_unrecorded: bool,
    withheld: &mut Vec<&'static str>,
) -> Vec<Finding> {
    let input = RuleInput::new(analysis, lines);
    let mut found: Vec<Finding> = Vec::new();
    for rule in RULES {
        let occurrences = rule.find(&input).into_iter();
        let mut findings = occurrences.filter_map(|found| weighed(&input, *rule, found)).peekable();
        if is_much_unrecorded && rule.needs_all_memory() {
            withheld.extend(findings.peek().map(|_| rule.id()));
        } else {
            found.extend(findings);
        }
    }
    // Which are reported is the model's choice within a severity. Of these the one that saves most comes first.
    in_order(&mut found);
    found.truncate(MOST);
    let in_calls =
        |finding: &Finding| RULES.iter().any(|rule| rule.id() == finding.id && rule.takes_time_in_calls());
    for finding in found.iter_mut().filter(|finding| in_calls(finding)) {
        let time = &mut finding.estimate.time;
        time.0 = (time.0 as f64 * correction(analysis, &finding.sites)) as u64;
    }
    in_order(&mut found);
    alike::most_calls_first(&mut found, in_calls);
    found
}

/// The most rewarding first. Names decide between equals, so that the same recording gives the same report.
fn in_order(found: &mut [Finding]) {
    found.sort_by(|a, b| {
        let key = |i: &Finding| {
            let rewards = (i.severity, i.estimate.time, i.certainty, i.estimate.allocated_bytes);
            Reverse((debug_environment::comes_first(i), rewards))
        };
        key(a).cmp(&key(b)).then_with(|| (a.id, &a.title).cmp(&(b.id, &b.title)))
    });
}

fn weighed(input: &RuleInput<'_>, rule: &dyn Rule, occurrence: Occurrence<'_>) -> Option<Finding> {
    let severity = rule.severity(input, &occurrence)?;
    let Occurrence { certainty, title, place, sites, evidence, estimate, remedy } = occurrence;
    let (severity, remedy) = match place.and_then(|place| place.foreign.as_ref()) {
        None => (severity, remedy),
        // What others have to change is nothing to begin with, and nothing at all if it saves little.
        Some(_) if severity == Severity::Low => return None,
        Some(foreign) => (severity.min(Severity::Medium), foreign.remedy(rule.in_foreign_code())?),
    };
    Some(Finding {
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

/// The estimate for a part that would be gone altogether, but for so many allocations and reallocations.
fn without(part: &Part<'_>, allocations_left: u64, reallocations_left: u64) -> Estimate {
    let gone = Estimate {
        allocations: part.allocations.saturating_sub(allocations_left),
        reallocations: part.reallocations.saturating_sub(reallocations_left),
        ..Estimate::default()
    };
    let share =
        |n: u64| (u128::from(n) * u128::from(gone.requests()) / u128::from(part.requests().max(1))) as u64;
    Estimate {
        allocated_bytes: Bytes(share(part.bytes)),
        time: heapwise_analysis::Nanos(share(part.time().0)),
        ..gone
    }
}

/// The estimate for buffers of which one is kept for all that are soon freed. It grows to the largest size.
fn with_one_kept(part: &Part<'_>, soon: u64) -> Estimate {
    let left = |calls: u64| {
        let each = calls / part.made().max(1);
        each + calls.saturating_sub(soon.saturating_mul(each))
    };
    without(part, left(part.allocations).max(1), left(part.reallocations))
}

/// The estimate for a part that would be gone altogether, and what was copied into its blocks with it.
fn without_texts(part: &Part<'_>) -> Estimate {
    without_copies(part, part.allocations)
}

/// The estimate for so many copies that are no longer made: what was copied is saved as well.
fn without_copies(part: &Part<'_>, copies: u64) -> Estimate {
    let estimate = without(part, part.allocations.saturating_sub(copies), part.reallocations);
    let copying = of_work(&Work { copied_bytes: estimate.allocated_bytes.0, ..Work::default() });
    Estimate { time: heapwise_analysis::Nanos(estimate.time.0.saturating_add(copying.0)), ..estimate }
}
