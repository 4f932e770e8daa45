//! What resident memory consists of, in one sentence, and what to do about it.

mod remedy;

use crate::idle;
use crate::units::{bytes, share, time};
use crate::unseen::Unseen;
use heapwise_analysis::{Analysis, Breakdown, Bytes, Nanos};

/// What dominates resident memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictKind {
    /// Live bytes, which were still rising.
    Growth,
    Live,
    /// Usable minus requested bytes.
    InternalFragmentation,
    /// Free bytes in pages with live blocks.
    ExternalFragmentation,
    /// Resident pages without a live block.
    FreePages,
    /// The allocator's own pages.
    Metadata,
    /// Memory that the heap has nothing to do with.
    NotHeap,
    /// What was there when recording began.
    Before,
    /// It cannot be said: most of what was live at the live peak was not yet, or no more, when pages were looked at.
    Missed,
    /// It cannot be said: too much was not recorded.
    Unrecorded,
}

impl VerdictKind {
    /// Its name in reports for machines.
    pub fn id(self) -> &'static str {
        match self {
            Self::Growth => "growth",
            Self::Live => "live",
            Self::InternalFragmentation => "internal-fragmentation",
            Self::ExternalFragmentation => "external-fragmentation",
            Self::FreePages => "free-pages",
            Self::Metadata => "metadata",
            Self::NotHeap => "not-heap",
            Self::Before => "before",
            Self::Missed => "missed",
            Self::Unrecorded => "unrecorded",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub kind: VerdictKind,
    /// One sentence with numbers.
    pub sentence: String,
    pub remedy: String,
}

/// Live bytes are still rising if they are within this share of their peak when the process ends.
const STILL_HIGH: f64 = 0.9;

pub(crate) fn verdict(analysis: &Analysis, unseen: Option<&Unseen>) -> Option<Verdict> {
    let accounting = &analysis.accounting;
    let peak = accounting.at_peak.as_ref()?;
    let end = accounting.at_end.as_ref().unwrap_or(peak);
    let is_idle = idle::idles(analysis, peak, end);
    let (moment, when) = match is_idle {
        true => (end, "At the end".to_owned()),
        false => (peak, analysis.moment(peak).replacen("at", "At", 1)),
    };
    let is_returned = idle::returned_memory(peak, end);
    let mut judged = *moment;
    if is_returned {
        judged.free_pages = Bytes(0);
    }
    let kind = match dominant(analysis, &judged) {
        // Less than that, and less than all that was on its way out: a program is not small for having freed its blocks.
        VerdictKind::NotHeap if moment.free_pages > moment.not_heap => VerdictKind::FreePages,
        kind => kind,
    };
    if let Some(unseen) = unseen.filter(|unseen| unseen.is_much || kind == VerdictKind::NotHeap) {
        return Some(withheld(unseen));
    }
    if kind == VerdictKind::FreePages
        && !is_returned
        && let Some(ago) = idle::since_the_live_peak(analysis, peak, end, moment)
    {
        return Some(just_freed(analysis, moment, &when, ago));
    }
    // What most of the run was like is judged, whatever there was for a moment.
    if !is_idle && let Some(missed) = missed(analysis, moment, kind) {
        return Some(missed);
    }
    let of = |part: Bytes| format!("{} of {}", bytes(part.0), bytes(moment.rss.0));
    let percent = |part: Bytes| share(part.0, moment.rss.0);
    let sentence = match kind {
        VerdictKind::Growth => format!(
            "{when} {} resident ({}) is live data, and it {}",
            of(moment.live),
            percent(moment.live),
            if analysis.lacks_a_part() {
                "was near its highest where the recording breaks off"
            } else if holds_at_exit(analysis) && analysis.goes_on() {
                "was still near its highest when the recording ended"
            } else if holds_at_exit(analysis) {
                "was still near its highest when the program ended"
            } else {
                "rose until the program freed it at its end"
            }
        ),
        VerdictKind::Live => {
            format!(
                "{when} {} resident ({}) is live data: the program's own",
                of(moment.live),
                percent(moment.live)
            )
        }
        VerdictKind::InternalFragmentation => format!(
            "{when} {} resident ({}) is internal fragmentation: usable minus requested bytes",
            of(moment.internal_fragmentation),
            percent(moment.internal_fragmentation)
        ),
        VerdictKind::ExternalFragmentation => format!(
            "{when} {} resident ({}) is external fragmentation: free bytes in pages with live blocks",
            of(moment.external_fragmentation),
            percent(moment.external_fragmentation)
        ),
        VerdictKind::FreePages if is_returned => format!(
            "{when} {} resident ({}) is free pages, on their way back to the system: at the end {} are resident",
            of(moment.free_pages),
            percent(moment.free_pages),
            bytes(end.rss.0)
        ),
        VerdictKind::FreePages => format!(
            "{when} {} resident ({}) is free pages that the allocator has not returned to the system{}",
            of(moment.free_pages),
            percent(moment.free_pages),
            if is_idle { "; that is not fragmentation" } else { "" }
        ),
        VerdictKind::Metadata => {
            format!(
                "{when} {} resident ({}) is the allocator's own",
                of(moment.metadata),
                percent(moment.metadata)
            )
        }
        VerdictKind::NotHeap => format!(
            "{when} {} resident ({}) is not heap: code, static data, stacks and files",
            of(moment.not_heap),
            percent(moment.not_heap)
        ),
        VerdictKind::Before => format!(
            "{when} {} resident ({}) was there before the recording began: blocks from before, or free by now",
            of(moment.before),
            percent(moment.before)
        ),
        VerdictKind::Unrecorded | VerdictKind::Missed => return unseen.map(withheld),
    };
    let remedy = match kind {
        VerdictKind::FreePages if is_returned => {
            "Nothing of it stays. A lower peak needs fewer blocks that live at the same time, or an \
             allocator that returns pages sooner."
                .into()
        }
        _ => remedy::remedy(analysis, kind, moment),
    };
    Some(Verdict { kind, sentence, remedy })
}

/// The pages were full of live blocks a moment before: what they held makes the program as large as it is.
fn just_freed(analysis: &Analysis, look: &Breakdown, when: &str, ago: Nanos) -> Verdict {
    Verdict {
        kind: VerdictKind::Live,
        sentence: format!(
            "{when} {} of {} resident ({}) is free pages, {} after the live peak of {}",
            bytes(look.free_pages.0),
            bytes(look.rss.0),
            share(look.free_pages.0, look.rss.0),
            time(ago.0),
            bytes(analysis.totals.peak_live_bytes.0)
        ),
        remedy: "Look at what is live at the peak: that is what has to become smaller. That pages stay resident after it matters only to a \
                 program that runs on."
            .into(),
    }
}

/// Whether the live peak was missed, in a process that allocated most before or after its highest look: then that look says what the
/// rest of memory consisted of, and blames the wrong part. What is live or free at such a look is the program's own, and true.
fn missed(analysis: &Analysis, look: &Breakdown, kind: VerdictKind) -> Option<Verdict> {
    let [process] = analysis.processes.as_slice() else { return None };
    let of_the_rest = matches!(
        kind,
        VerdictKind::NotHeap
            | VerdictKind::InternalFragmentation
            | VerdictKind::ExternalFragmentation
            | VerdictKind::Metadata
    );
    let (most, then) =
        (process.totals.peak_live_bytes.0, look.live.0.saturating_add(look.live_not_resident.0));
    let is_missed = most.saturating_sub(then).saturating_mul(2) > look.rss.0;
    (of_the_rest && is_missed && !analysis.is_of_the_peak(look)).then(|| Verdict {
        kind: VerdictKind::Missed,
        sentence: format!(
            "Resident memory is not judged: pages were looked at with {} live, and not at the live peak of {}",
            bytes(then),
            bytes(most)
        ),
        remedy: "Look at what is live at the peak. `heapwise run --snapshot-every 10ms` looks at pages more often; a program that ends by \
                 `_exit`, or is killed, is not looked at when it ends."
            .into(),
    })
}

/// Why there is no verdict, in its place.
fn withheld(unseen: &Unseen) -> Verdict {
    Verdict {
        kind: VerdictKind::Unrecorded,
        sentence: format!("Resident memory is not judged: {}", unseen.sentence),
        remedy: unseen.remedy.clone(),
    }
}

/// The largest part of the heap, or that it is not the heap, if all parts of the heap together are less.
fn dominant(analysis: &Analysis, b: &Breakdown) -> VerdictKind {
    let heap = b.heap().0.saturating_add(b.before.0);
    let parts = [
        (b.live, VerdictKind::Live),
        (b.free_pages, VerdictKind::FreePages),
        (b.external_fragmentation, VerdictKind::ExternalFragmentation),
        (b.internal_fragmentation, VerdictKind::InternalFragmentation),
        (b.metadata, VerdictKind::Metadata),
        (b.before, VerdictKind::Before),
    ];
    if b.not_heap.0 > heap {
        return VerdictKind::NotHeap;
    }
    // Of equal parts the one that is named first counts.
    let largest = parts.into_iter().rev().max_by_key(|(bytes, _)| *bytes);
    match largest.map_or(VerdictKind::Live, |(_, kind)| kind) {
        VerdictKind::Live if is_rising(analysis) => VerdictKind::Growth,
        kind => kind,
    }
}

/// Whether live bytes end near their peak after having risen in the second half of the run.
fn is_rising(analysis: &Analysis) -> bool {
    let samples = analysis.memory.samples(100);
    let [.., before, _] = samples.as_slice() else { return false };
    let middle = samples[samples.len() / 2].live.0;
    let peak = analysis.totals.peak_live_bytes.0 as f64;
    // The last sample may hold the clearing up at the end.
    before.live.0 as f64 >= STILL_HIGH * peak && (middle as f64) < STILL_HIGH * peak
}

/// Whether what was live at the peak was not freed before the end.
fn holds_at_exit(analysis: &Analysis) -> bool {
    let totals = &analysis.totals;
    totals.live_at_exit_bytes.0 as f64 >= STILL_HIGH * totals.peak_live_bytes.0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Program;
    use heapwise_analysis::{BlindSpot, Pinned};

    const MIB: u64 = 1 << 20;

    fn program(allocator: &str) -> Analysis {
        let mut p = Program::default();
        let stack = p.stack(&["main|/u/src/a.c|7"]);
        p.alloc(stack, 24);
        let mut analysis = p.analysis();
        analysis.processes[0].allocator = allocator.into();
        analysis
    }

    fn breakdown(part: impl Fn(&mut Breakdown)) -> Breakdown {
        let mut b = Breakdown { rss: Bytes(100 * MIB), live: Bytes(30 * MIB), ..Breakdown::default() };
        part(&mut b);
        b
    }

    fn verdict_of(allocator: &str, peak: Breakdown) -> Verdict {
        let mut analysis = program(allocator);
        analysis.accounting.at_peak = Some(peak);
        verdict(&analysis, None).expect("pages were seen")
    }

    #[test]
    fn the_largest_part_gives_the_verdict() {
        let most = Bytes(60 * MIB);
        let cases: [(VerdictKind, Breakdown, &str); 6] = [
            (VerdictKind::Live, breakdown(|b| b.live = most), "is live data"),
            (
                VerdictKind::InternalFragmentation,
                breakdown(|b| b.internal_fragmentation = most),
                "is internal fragmentation",
            ),
            (
                VerdictKind::ExternalFragmentation,
                breakdown(|b| b.external_fragmentation = most),
                "is external fragmentation",
            ),
            (VerdictKind::FreePages, breakdown(|b| b.free_pages = most), "not returned to the system"),
            (VerdictKind::Metadata, breakdown(|b| b.metadata = most), "the allocator's own"),
            (VerdictKind::NotHeap, breakdown(|b| b.not_heap = most), "is not heap"),
        ];
        for (kind, peak, words) in cases {
            let verdict = verdict_of("/lib/libc.so.6", peak);
            assert_eq!(verdict.kind, kind);
            assert!(
                verdict.sentence.starts_with("At the peak 60.0 MiB of 100 MiB resident (60 %)"),
                "{verdict:?}"
            );
            assert!(verdict.sentence.contains(words) && !verdict.remedy.is_empty(), "{verdict:?}");
        }
        assert_eq!(verdict(&program("/lib/libc.so.6"), None), None, "no pages were seen");
    }

    #[test]
    fn a_look_that_missed_the_peak_says_when_it_was() {
        let mut analysis = program("/lib/libc.so.6");
        let most = |b: &mut Breakdown| (b.live, b.time) = (Bytes(60 * MIB), Nanos(2_190_000_000));
        analysis.accounting.at_peak = Some(breakdown(|b| most(b)));
        analysis.memory.peak_rss = Bytes(200 * MIB);
        let sentence = verdict(&analysis, None).expect("pages were seen").sentence;
        assert!(sentence.starts_with("At 2.19 s 60.0 MiB of 100 MiB resident"), "{sentence}");
    }

    #[test]
    fn a_look_that_missed_the_live_peak_blames_no_other_part() {
        type Part = fn(&mut Breakdown);
        let most: [(Part, VerdictKind); 4] = [
            (|b| b.not_heap = Bytes(60 * MIB), VerdictKind::NotHeap),
            (|b| b.external_fragmentation = Bytes(60 * MIB), VerdictKind::ExternalFragmentation),
            (|b| b.live = Bytes(60 * MIB), VerdictKind::Live),
            (|b| b.free_pages = Bytes(60 * MIB), VerdictKind::FreePages),
        ];
        for (part, kind) in most {
            let mut analysis = program("/lib/libc.so.6");
            analysis.accounting.at_peak = Some(breakdown(|b| {
                (b.live, b.live_not_resident) = (Bytes(MIB), Bytes(9 * MIB));
                part(b);
            }));
            let mut judged = |peak_mib: u64, rss_mib: u64| {
                analysis.processes[0].totals.peak_live_bytes = Bytes(peak_mib * MIB);
                analysis.memory.peak_rss = Bytes(rss_mib * MIB);
                verdict(&analysis, None).expect("pages were seen")
            };
            // With no more than that, or with as much resident at that look as ever, it stands.
            assert_eq!(judged(59, 200).kind, kind);
            assert_eq!(judged(90, 100).kind, kind);
            let missed = judged(90, 200);
            if [VerdictKind::Live, VerdictKind::FreePages].contains(&kind) {
                assert_eq!(missed.kind, kind, "{missed:?}");
                continue;
            }
            assert_eq!(missed.kind, VerdictKind::Missed);
            let words = "looked at with 10.0 MiB live, and not at the live peak of 90.0 MiB";
            assert!(missed.sentence.ends_with(words), "{}", missed.sentence);
            assert!(missed.remedy.contains("--snapshot-every"), "{}", missed.remedy);
        }
    }

    #[test]
    fn a_look_at_the_end_of_a_short_run_is_not_one_at_the_peak() {
        let mut analysis = program("/lib/libc.so.6");
        (analysis.duration, analysis.memory.peak_rss) = (Nanos(82_000_000), Bytes(100 * MIB));
        analysis.totals.peak_live_bytes = Bytes(60 * MIB);
        analysis.accounting.at_peak = Some(breakdown(|b| {
            (b.live, b.free_pages, b.time) = (Bytes(544), Bytes(60 * MIB), Nanos(81_900_000));
        }));
        let sentence = verdict(&analysis, None).expect("pages were seen").sentence;
        assert!(sentence.starts_with("At 81.9 ms 60.0 MiB of 100 MiB resident"), "{sentence}");
    }

    #[test]
    fn pages_that_were_just_freed_are_what_was_live() {
        let verdict_with = |ago_ms: u64, peak_mib: u64, of_all_mib: u64| {
            let mut analysis = program("/lib/libc.so.6");
            analysis.duration = Nanos(4_000_000_000);
            analysis.memory.live_peak_at = Nanos((3500 - ago_ms) * 1_000_000);
            analysis.totals.peak_live_bytes = Bytes(of_all_mib * MIB);
            analysis.processes[0].totals.peak_live_bytes = Bytes(peak_mib * MIB);
            analysis.accounting.at_peak = Some(breakdown(|b| {
                (b.live, b.free_pages, b.time) = (Bytes(MIB), Bytes(80 * MIB), Nanos(3_500_000_000));
            }));
            verdict(&analysis, None).expect("pages were seen")
        };
        let verdict_of = |ago_ms, peak_mib| verdict_with(ago_ms, peak_mib, peak_mib);
        let just = verdict_of(18, 70);
        assert_eq!(just.kind, VerdictKind::Live);
        assert!(just.sentence.ends_with("free pages, 18.0 ms after the live peak of 70.0 MiB"), "{just:?}");
        assert!(just.remedy.starts_with("Look at what is live at the peak"), "{just:?}");
        assert_eq!(verdict_of(900, 70).kind, VerdictKind::Live);
        for other in [verdict_of(1100, 70), verdict_of(18, 40)] {
            assert_eq!(other.kind, VerdictKind::FreePages, "{other:?}");
        }
        // Where other processes have much, too, it is not known when this one had most.
        let others = verdict_with(18, 70, 80);
        assert_eq!(others.kind, VerdictKind::FreePages, "{others:?}");
    }

    #[test]
    fn the_heap_is_not_cleared_by_being_in_parts() {
        let split =
            |not_heap| breakdown(|b| (b.not_heap, b.free_pages) = (Bytes(not_heap * MIB), Bytes(15 * MIB)));
        assert_eq!(verdict_of("/lib/libc.so.6", split(44)).kind, VerdictKind::Live);
        assert_eq!(verdict_of("/lib/libc.so.6", split(46)).kind, VerdictKind::NotHeap);
    }

    #[test]
    fn a_program_that_has_freed_its_blocks_is_not_said_to_have_little_heap() {
        let mut analysis = program("/lib/libc.so.6");
        let peak = breakdown(|b| {
            (b.live, b.not_heap, b.free_pages) = (Bytes(4 * MIB), Bytes(17 * MIB), Bytes(73 * MIB));
        });
        analysis.accounting.at_peak = Some(peak);
        analysis.accounting.at_end = Some(Breakdown { rss: Bytes(9 * MIB), ..peak });
        let verdict = verdict(&analysis, None).expect("pages were seen");
        assert_eq!(verdict.kind, VerdictKind::FreePages);
        assert!(verdict.sentence.contains("73.0 MiB of 100 MiB resident (73 %) is free pages, on their way"));
        assert!(verdict.sentence.ends_with("at the end 9.00 MiB are resident"), "{}", verdict.sentence);
        assert!(verdict.remedy.starts_with("Nothing of it stays"), "{}", verdict.remedy);
    }

    #[test]
    fn without_what_was_not_recorded_nothing_is_judged() {
        let mut analysis = program("/lib/libc.so.6");
        let judged = |analysis: &Analysis| {
            let found = crate::unseen(analysis);
            verdict(analysis, found.as_ref()).expect("pages were seen")
        };
        let mostly = |unrecorded| breakdown(|b| b.unrecorded = Bytes(unrecorded * MIB));
        analysis.accounting.at_peak = Some(mostly(20));
        assert_eq!(judged(&analysis).kind, VerdictKind::Live, "what is recorded is more");
        analysis.accounting.at_peak = Some(mostly(40));
        let withheld = judged(&analysis);
        assert_eq!(withheld.kind, VerdictKind::Unrecorded);
        assert!(withheld.sentence.contains("not judged: 40.0 MiB of 100 MiB"), "{}", withheld.sentence);
        // However little of it there is, a program with its own allocator is never said to have little heap.
        analysis.accounting.at_peak = Some(breakdown(|b| b.not_heap = Bytes(60 * MIB)));
        assert_eq!(judged(&analysis).kind, VerdictKind::NotHeap);
        let (id, allocator, file) = (BlindSpot::OWN_ALLOCATOR.into(), "jemalloc".into(), "/a".into());
        analysis.blind_spots = vec![BlindSpot { id, allocator, file, ..BlindSpot::default() }];
        let withheld = judged(&analysis);
        assert_eq!(withheld.kind, VerdictKind::Unrecorded);
        assert!(withheld.sentence.contains("jemalloc inside /a"), "{}", withheld.sentence);
        analysis.accounting.at_peak = Some(breakdown(|b| b.live = Bytes(60 * MIB)));
        assert_eq!(judged(&analysis).kind, VerdictKind::Live);
    }

    #[test]
    fn what_rose_is_held_at_the_end_or_was_freed_there() {
        let risen = |is_freed: bool, goes_on: bool| {
            let mut p = Program::default();
            let stack = p.stack(&["main|/u/src/a.c|7"]);
            let blocks: Vec<u64> = (0..200)
                .map(|_| {
                    p.wait_ms(10);
                    p.alloc(stack, MIB)
                })
                .collect();
            if is_freed {
                blocks.into_iter().for_each(|block| p.free(block));
            }
            let mut analysis = p.analysis();
            analysis.accounting.at_peak = Some(breakdown(|b| b.live = Bytes(60 * MIB)));
            analysis.processes[0].still_running = goes_on;
            verdict(&analysis, None).expect("pages were seen")
        };
        let held = risen(false, true);
        assert!(held.sentence.ends_with("still near its highest when the recording ended"), "{held:?}");
        let held = risen(false, false);
        assert_eq!(held.kind, VerdictKind::Growth);
        assert!(held.sentence.ends_with("still near its highest when the program ended"), "{held:?}");
        assert!(held.remedy.contains("still hold it at the end"), "{held:?}");
        let freed = risen(true, false);
        assert_eq!(freed.kind, VerdictKind::Growth);
        assert!(freed.sentence.ends_with("rose until the program freed it at its end"), "{freed:?}");
        assert!(freed.remedy.contains("if it goes on rising in a longer run"), "{freed:?}");
    }

    #[test]
    fn the_remedy_is_that_of_the_allocator() {
        let free = breakdown(|b| b.free_pages = Bytes(60 * MIB));
        assert!(verdict_of("/lib/libc.so.6", free).remedy.contains("malloc_trim"));
        assert!(verdict_of("/usr/lib/libjemalloc.so.2", free).remedy.contains("background_thread"));
        assert!(verdict_of("/usr/lib/libmimalloc.so.2", free).remedy.contains("MIMALLOC_PURGE_DELAY"));
        let lazy = Breakdown { lazily_freed: Bytes(50 * MIB), ..free };
        assert!(verdict_of("/usr/lib/libsnmalloc.so", lazy).remedy.contains("MADV_FREE"));
    }

    #[test]
    fn external_fragmentation_names_what_pins_most() {
        let mut analysis = program("/lib/libc.so.6");
        analysis.accounting.at_peak = Some(breakdown(|b| b.external_fragmentation = Bytes(60 * MIB)));
        let site = analysis.sites()[0].id;
        analysis.accounting.pinned = vec![Pinned { site, bytes: Bytes(38 * MIB), blocks: 602, pages: 9000 }];
        let remedy = verdict(&analysis, None).expect("pages were seen").remedy;
        assert!(remedy.contains("38.0 MiB of free memory with 602 blocks"), "{remedy}");
    }
}
