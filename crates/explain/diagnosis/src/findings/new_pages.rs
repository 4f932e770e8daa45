//! `new-pages`: large blocks are mapped anew each time, and the kernel clears pages that the program had before.
//!
//! No call of the allocator takes that time, but whoever writes to the block first. What it takes is bounded by the time in the kernel
//! ([`cost::of_pages_again`]). A line that [`reuse-in-loop`](super::reuse_in_loop) is about has its finding there.

use super::{Occurrence, Rule, reuse_in_loop};
use crate::finding::{Certainty, Estimate, Severity};
use crate::rule_input::{Place, RuleInput};
use crate::units::{bytes, count, time};
use crate::{allocator, cost, weigh};
use heapwise_analysis::{Bytes, Nanos, Site, SiteId};
use std::cmp::Reverse;
use std::collections::HashSet;

pub(crate) struct NewPages;

/// Of the time that the run takes: one part in so many.
const LEAST_OF_RUN: u64 = 50;
/// So many places are named.
const NAMED: usize = 3;

impl Rule for NewPages {
    fn id(&self) -> &'static str {
        "new-pages"
    }

    fn takes_time_in_calls(&self) -> bool {
        false
    }

    fn severity(&self, input: &RuleInput<'_>, occurrence: &Occurrence<'_>) -> Option<Severity> {
        Some(weigh::severity_outside_calls(input.analysis, occurrence.estimate.time))
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        find(input).into_iter().collect()
    }
}

fn find<'a>(input: &'a RuleInput<'a>) -> Option<Occurrence<'a>> {
    let analysis = input.analysis;
    let lost_by_all = cost::of_pages_again(analysis).0;
    if lost_by_all == 0 {
        return None;
    }
    let all = || analysis.sites().iter().filter(|site| cost::bytes_again(site) > Bytes(0));
    // In code of others the owner cannot keep a buffer.
    let own = input.places.iter().filter(|place| place.foreign.is_none());
    let with_finding: HashSet<SiteId> = own.flat_map(reuse_in_loop::sites).collect();
    let mut sites: Vec<&Site> = all().filter(|site| !with_finding.contains(&site.id)).collect();
    // The first of equal ones is the first.
    sites.sort_by_key(|site| Reverse(cost::bytes_again(site)));
    let again = again(&sites);
    let share = again as f64 / all().map(|site| cost::bytes_again(site).0).sum::<u64>().max(1) as f64;
    let lost = Nanos((lost_by_all as f64 * share) as u64);
    if lost.0 == 0 || lost.0.saturating_mul(LEAST_OF_RUN) < analysis.duration.0 {
        return None;
    }
    let main = analysis.processes.iter().max_by_key(|process| process.totals.allocated_bytes)?;
    let family = allocator::by_name(&main.allocator);
    let in_kernel = analysis.end.as_ref().map_or(0, |end| end.system_ns);
    let mut evidence = places(input, &sites);
    evidence.push(format!(
        "to map and clear them again takes at most {}; the program was in the kernel for {}",
        time(lost.0),
        time(in_kernel)
    ));
    Some(Occurrence {
        certainty: Certainty::Likely,
        title: format!(
            "{} of large blocks are mapped anew, after {} returned their pages",
            bytes(again),
            family.name
        ),
        place: None,
        sites: sites.iter().map(|site| site.id).collect(),
        evidence,
        estimate: Estimate { time: lost, ..Estimate::default() },
        remedy: format!("Keep such blocks and use them again. {}", family.new_pages?),
    })
}

fn again(sites: &[&Site]) -> u64 {
    sites.iter().map(|site| cost::bytes_again(site).0).sum()
}

/// What places with names have of it, the largest first.
fn places(input: &RuleInput<'_>, sites: &[&Site]) -> Vec<String> {
    let part = |place: &Place<'_>| -> Vec<&Site> {
        sites.iter().copied().filter(|site| place.seen.iter().any(|seen| seen.site.id == site.id)).collect()
    };
    let mut places: Vec<_> = input.places.iter().map(|place| (place.label(), part(place))).collect();
    places.retain(|(_, sites)| !sites.is_empty());
    places.sort_by_key(|(_, sites)| Reverse(again(sites)));
    places.truncate(NAMED);
    let said = places.iter().map(|(label, sites)| {
        let held = sites.iter().map(|site| site.peak_bytes.0).sum();
        let (again, held, blocks) =
            (bytes(again(sites)), bytes(held), sites.iter().map(|s| s.allocations).sum());
        format!("{label}: {again} beyond the {held} that it had at the peak, in {} blocks", count(blocks))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Program, all};

    const LARGE: u64 = 48 << 20;

    /// Values that are made from earlier ones: at most a few of them are live at a time, and none is a buffer of a loop.
    fn program(allocator: &str, system_ns: u64) -> Vec<crate::Finding> {
        program_at("scaled|/u/src/a.c|7", allocator, system_ns)
    }

    fn program_at(place: &str, allocator: &str, system_ns: u64) -> Vec<crate::Finding> {
        let mut p = Program::default();
        let line = p.stack(&[place]);
        let mut kept = std::collections::VecDeque::new();
        for _ in 0..7 {
            kept.push_back(p.alloc(line, LARGE));
            if kept.len() > 2 {
                kept.pop_front().into_iter().for_each(|block| p.free(block));
            }
        }
        let mut analysis = p.analysis();
        analysis.processes[0].allocator = allocator.into();
        let end = analysis.end.as_mut().expect("it ended");
        (end.system_ns, end.cpu_ns) = (system_ns, 400_000_000);
        analysis.duration = heapwise_analysis::Nanos(400_000_000);
        all(&analysis).into_iter().filter(|finding| finding.id == "new-pages").collect()
    }

    #[test]
    fn blocks_that_come_again_are_reported_with_the_allocators_setting() {
        let found = program("/lib/libc.so.6", 50_000_000);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].title,
            "192 MiB of large blocks are mapped anew, after glibc returned their pages"
        );
        assert_eq!(
            found[0].estimate.time,
            heapwise_analysis::Nanos(50_000_000),
            "as long as it was in the kernel"
        );
        assert_eq!(found[0].severity, crate::Severity::High);
        assert!(
            found[0].evidence[0].starts_with("scaled (a.c:7): 192 MiB beyond the 144 MiB"),
            "{:?}",
            found[0].evidence
        );
        assert!(found[0].remedy.contains("mmap_max=0"), "{}", found[0].remedy);
        assert!(program("libjemalloc.so.2", 50_000_000)[0].remedy.contains("dirty_decay_ms"));
        let stripped = program_at("||", "/lib/libc.so.6", 50_000_000);
        assert_eq!(
            (stripped[0].evidence.len(), &stripped[0].title),
            (1, &found[0].title),
            "there is no name"
        );
    }

    #[test]
    fn what_takes_little_or_is_not_known_is_no_finding() {
        assert_eq!(program("/lib/libc.so.6", 0), [], "the time in the kernel was not measured");
        assert_eq!(program("/lib/libc.so.6", 7_000_000), [], "less than a fiftieth of the run");
        assert_eq!(program("mimalloc", 50_000_000), [], "it keeps them");
    }
}
