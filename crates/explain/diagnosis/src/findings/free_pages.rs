//! `free-pages`: the allocator keeps pages without a live block resident.

use super::{Occurrence, Rule};
use crate::allocator;
use crate::finding::{Certainty, Estimate, Severity};
use crate::idle;
use crate::rule_input::RuleInput;
use crate::units::{bytes, share};
use crate::weigh;
use heapwise_analysis::{Analysis, Breakdown, Bytes};

pub(crate) struct FreePages;

const LEAST_BYTES: u64 = 8 << 20;

impl Rule for FreePages {
    fn id(&self) -> &'static str {
        "free-pages"
    }

    /// Pages that seem to be free may be those of another allocator.
    fn needs_all_memory(&self) -> bool {
        true
    }

    /// By what the peak would be lower, and by what is kept. Whether that matters is for the owner to say, so it alone is medium at most.
    fn severity(&self, input: &RuleInput<'_>, occurrence: &Occurrence<'_>) -> Option<Severity> {
        let of = |peak_bytes| {
            let estimate = Estimate { peak_bytes, ..Estimate::default() };
            weigh::severity(input, None, &[], &estimate)
        };
        let kept = kept(input).and_then(|(worst, _)| of(worst.free_pages));
        of(occurrence.estimate.peak_bytes).max(kept.map(|severity| severity.min(Severity::Medium)))
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let Some((worst, when)) = kept(input) else { return Vec::new() };
        let peak = Peak::of(input.analysis, worst);
        let gain = peak.without(worst.free_pages);
        let mut evidence = vec![
            format!(
                "{when} {} of {} resident are free pages: without a live block",
                bytes(worst.free_pages.0),
                bytes(worst.rss.0)
            ),
            format!(
                "that is {}; live blocks are {}",
                share(worst.free_pages.0, worst.rss.0),
                bytes(worst.live.0)
            ),
        ];
        if gain.0 == 0 {
            evidence.extend(peak.why_not_lower(input.analysis));
        }
        vec![Occurrence {
            certainty: Certainty::Certain,
            title: format!("the allocator keeps {} of free pages", bytes(worst.free_pages.0)),
            place: None,
            sites: Vec::new(),
            evidence,
            estimate: Estimate { peak_bytes: gain, ..Estimate::default() },
            remedy: allocator::with_most(input.analysis, worst, |parts| parts.free_pages).free_pages.into(),
        }]
    }
}

/// The look at which the allocator had most free pages, and when that was, if they are many. While a program frees its data, and just
/// after it, they are not kept yet.
fn kept<'a>(input: &'a RuleInput<'a>) -> Option<(&'a Breakdown, String)> {
    let accounting = &input.analysis.accounting;
    let (Some(peak), end) = (&accounting.at_peak, &accounting.at_end) else { return None };
    if end.as_ref().is_some_and(|end| idle::returned_memory(peak, end)) {
        return None;
    }
    let last = end.as_ref().unwrap_or(peak);
    let seen =
        [Some((peak, input.analysis.moment(peak))), end.as_ref().map(|end| (end, "at the end".to_owned()))];
    let is_kept = |look: &Breakdown| {
        idle::counts(input.analysis, peak, last, look)
            && idle::since_the_live_peak(input.analysis, peak, last, look).is_none()
    };
    let seen = seen.into_iter().flatten().filter(|(look, _)| is_kept(look));
    let large = |b: &Breakdown| b.free_pages.0 >= LEAST_BYTES && b.free_pages.0 * 10 >= b.rss.0 * 3;
    seen.filter(|(b, _)| large(b)).max_by_key(|(b, _)| b.free_pages)
}

/// What is known of the highest resident set of a process.
struct Peak<'a> {
    highest: Bytes,
    most_live: Bytes,
    /// The most live blocks, and all that is not heap.
    needed: Bytes,
    /// The look at which most was resident that was no free page.
    fullest: &'a Breakdown,
}

impl<'a> Peak<'a> {
    /// That of the process that a look was at.
    fn of(analysis: &'a Analysis, look: &'a Breakdown) -> Self {
        let process = analysis.processes.iter().find(|process| process.index == look.process);
        let most_live = process.map_or(look.live, |process| process.totals.peak_live_bytes.max(look.live));
        let accounting = &analysis.accounting;
        let looks = [&accounting.at_peak, &accounting.at_end].into_iter().flatten();
        let looks = looks.filter(|other| other.process == look.process);
        let of_all = if analysis.processes.len() == 1 { analysis.memory.peak_rss } else { Bytes(0) };
        Self {
            highest: looks.clone().fold(of_all.max(look.rss), |highest, look| highest.max(look.rss)),
            most_live,
            needed: Bytes(most_live.0.saturating_add(look.not_heap.0).saturating_add(look.unrecorded.0)),
            fullest: looks.max_by_key(|look| in_use(look)).unwrap_or(look),
        }
    }

    /// How much lower it would be if so many free pages were returned: no more than what each look has of other pages, and what the most
    /// live blocks need, leave of it.
    fn without(&self, free_pages: Bytes) -> Bytes {
        let needed = self.needed.max(in_use(self.fullest));
        let gain = free_pages.0.min(self.highest.0.saturating_sub(needed.0));
        // Less is nothing to begin with.
        Bytes(if gain >= LEAST_BYTES { gain } else { 0 })
    }

    /// Why that is nothing, if it is known.
    fn why_not_lower(&self, analysis: &Analysis) -> Option<String> {
        let reason = if in_use(self.fullest) >= self.needed {
            let (free, rss) = (bytes(self.fullest.free_pages.0), bytes(self.fullest.rss.0));
            format!("{} {free} of {rss} were free pages", analysis.moment(self.fullest))
        } else if self.most_live <= self.highest {
            format!("{} were live at one time", bytes(self.most_live.0))
        } else {
            // More was live than was ever resident: how much of that the peak had is not known.
            return None;
        };
        Some(format!("the peak would be hardly lower: {reason}"))
    }
}

/// What a process had resident but free pages.
fn in_use(look: &Breakdown) -> Bytes {
    Bytes(look.rss.0.saturating_sub(look.free_pages.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Program;
    use heapwise_analysis::{AllocatorInside, AllocatorNumber, Bytes, Nanos, OfAllocator, Parts};

    #[test]
    fn pages_without_blocks_are_reported_with_the_allocators_remedy() {
        let mut p = Program::default();
        let stack = p.stack(&["main|/u/src/a.c|7"]);
        p.alloc(stack, 24);
        let mut analysis = p.analysis();
        analysis.processes[0].allocator = "/lib/libc.so.6".into();
        let breakdown = |free_pages: u64| Breakdown {
            rss: Bytes(100 << 20),
            free_pages: Bytes(free_pages),
            live: Bytes(10 << 20),
            ..Breakdown::default()
        };
        analysis.accounting.at_peak = Some(breakdown(1 << 20));
        analysis.accounting.at_end = Some(breakdown(2 << 20));
        let found = |analysis: &heapwise_analysis::Analysis| {
            let all = crate::testing::all(analysis).into_iter();
            all.filter(|i| i.id == "free-pages").collect::<Vec<_>>()
        };
        assert_eq!(found(&analysis), []);
        analysis.accounting.at_end = Some(breakdown(80 << 20));
        let findings = found(&analysis);
        // A program that has freed everything before it ends has no free pages for long.
        analysis.accounting.at_end.as_mut().expect("it is there").live = Bytes(0);
        assert_eq!(found(&analysis), []);
        // Nor has one of which only that moment was seen.
        let end = analysis.accounting.at_end;
        let peak = std::mem::replace(&mut analysis.accounting.at_peak, end);
        assert_eq!(found(&analysis), []);
        // A few blocks are left there, too, but not the program's data.
        let only = analysis.accounting.at_peak.as_mut().expect("it is there");
        only.live = Bytes(10 << 20);
        assert_eq!(found(&analysis).len(), 1);
        analysis.processes[0].totals.peak_live_bytes = Bytes(300 << 20);
        assert_eq!(found(&analysis), []);
        analysis.processes[0].totals.peak_live_bytes = Bytes(24);
        analysis.accounting.at_peak = peak;
        analysis.accounting.at_end.as_mut().expect("it is there").live = Bytes(10 << 20);
        assert_eq!(findings[0].title, "the allocator keeps 80.0 MiB of free pages");
        assert_eq!((findings[0].estimate.peak_bytes, findings[0].severity), (Bytes(0), Severity::Medium));
        assert_eq!(
            findings[0].evidence[2],
            "the peak would be hardly lower: at the peak 1.00 MiB of 100 MiB were free pages"
        );
        // Where the peak had them, too, it is lower without.
        let peak = analysis.accounting.at_peak.replace(breakdown(80 << 20));
        let findings = found(&analysis);
        assert_eq!(
            (findings[0].estimate.peak_bytes, findings[0].severity),
            (Bytes(80 << 20), Severity::High)
        );
        // If all of it was live before, the peak needs it.
        let mut with_most_live = |most_live: u64| {
            analysis.processes[0].totals.peak_live_bytes = Bytes(most_live);
            found(&analysis).remove(0)
        };
        let needed = with_most_live(95 << 20);
        assert_eq!((needed.estimate.peak_bytes, needed.severity), (Bytes(0), Severity::Medium));
        assert_eq!(needed.evidence[2], "the peak would be hardly lower: 95.0 MiB were live at one time");
        assert_eq!(with_most_live(101 << 20).evidence.len(), 2, "not all of that was resident");
        let part = with_most_live(40 << 20);
        assert_eq!(
            (part.estimate.peak_bytes, part.severity),
            (Bytes(60 << 20), Severity::Medium),
            "below 64 MiB"
        );
        with_most_live(24);
        analysis.accounting.at_peak = peak;
        assert!(findings[0].evidence[0].starts_with("at the end"), "{:?}", findings[0].evidence);
        assert!(findings[0].remedy.contains("malloc_trim"));
        // Of several allocators the one that has the pages counts.
        let inside =
            AllocatorInside { allocator: "jemalloc".into(), number: 2, ..AllocatorInside::default() };
        let theirs = Parts { free_pages: Bytes(70 << 20), ..Parts::default() };
        let of = |number, at_end| OfAllocator {
            number: AllocatorNumber(number),
            at_end,
            ..OfAllocator::default()
        };
        analysis.allocators =
            vec![of(0, Parts::default()), OfAllocator { inside: Some(inside), ..of(2, theirs) }];
        analysis.accounting.at_peak.as_mut().expect("it is there").time = Nanos(1);
        assert!(found(&analysis)[0].remedy.contains("dirty_decay_ms"));
        // A program with jemalloc inside may keep most of them in the C library's.
        analysis.processes[0].allocator = "jemalloc".into();
        analysis.processes[0].by_name = "/lib/libc.so.6".into();
        analysis.allocators[0].at_end.free_pages = Bytes(71 << 20);
        assert!(found(&analysis)[0].remedy.contains("malloc_trim"));
        analysis.allocators.clear();
        let mut withheld = Vec::new();
        let judged = crate::findings::all(&analysis, crate::source::NO_LINES, true, &mut withheld);
        assert_eq!(judged.iter().find(|i| i.id == "free-pages"), None, "much is unrecorded");
        assert_eq!(withheld, ["free-pages"]);
        let gone = Breakdown { rss: Bytes(20 << 20), live: Bytes(10 << 20), ..Breakdown::default() };
        let before = analysis.accounting.clone();
        analysis.accounting.at_peak = Some(breakdown(80 << 20));
        analysis.accounting.at_end = Some(gone);
        assert_eq!(found(&analysis), [], "it was returned to the system");
        analysis.accounting = before;
        analysis.processes[0].allocator = "/usr/lib/libjemalloc.so.2".into();
        assert!(found(&analysis)[0].remedy.contains("dirty_decay_ms"));
    }
    #[test]
    fn what_was_live_a_moment_before_is_not_kept() {
        let found = |ago_ms: u64, most_live: u64, is_cleared_up: bool| {
            let mut p = Program::default();
            let stack = p.stack(&["main|/u/src/a.c|7"]);
            p.alloc(stack, 24);
            let mut analysis = p.analysis();
            analysis.duration = Nanos(4_000_000_000);
            analysis.memory.live_peak_at = Nanos((3500 - ago_ms) * 1_000_000);
            analysis.processes[0].totals.peak_live_bytes = Bytes(most_live);
            let peak = Breakdown {
                rss: Bytes(100 << 20),
                free_pages: Bytes(60 << 20),
                live: Bytes(20 << 20),
                time: Nanos(3_500_000_000),
                ..Breakdown::default()
            };
            let end = Breakdown { free_pages: Bytes(80 << 20), live: Bytes(0), ..peak };
            analysis.accounting.at_peak = Some(peak);
            analysis.accounting.at_end = is_cleared_up.then_some(end);
            crate::testing::all(&analysis).into_iter().any(|finding| finding.id == "free-pages")
        };
        assert!(!found(18, 80 << 20, true), "the program was freeing its data");
        assert!(found(1100, 80 << 20, true), "they had been free for a second");
        assert!(found(18, 30 << 20, true), "they had been free before");
        assert!(found(18, 80 << 20, false), "it ends so, with its data in place");
    }
}
