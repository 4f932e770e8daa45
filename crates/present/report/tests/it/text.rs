//! The report on a terminal.

use crate::sample::{Sampled, analysis};
use crate::snapshot::compare;
use heapwise_analysis::{
    AllocatorInside, AllocatorNumber, Analysis, BlindSpot, Breakdown, Bytes, Nanos, OfAllocator, Parts,
    Pinned, SiteId, Warning,
};
use heapwise_diagnosis::{Diagnosis, Estimate, Finding, Severity, diagnose};
use heapwise_report::{SourceLines, Style, TextOptions, text};
use heapwise_trace::file::records::Interception;

const STYLE: Style = Style { color: false, width: 80 };

fn rendered(sampled: &Sampled, options: &TextOptions, style: Style) -> String {
    let analysis = analysis(sampled);
    text(&analysis, &diagnose(&analysis), options, style)
}

#[test]
fn at_80_columns() {
    let actual = rendered(&Sampled::default(), &TextOptions::default(), STYLE);
    compare(&actual, "at_80_columns.txt", include_str!("at_80_columns.txt"));
}

#[test]
fn by_default_a_terminal_gets_a_screen_and_a_half() {
    let options = TextOptions { full: false, ..TextOptions::default() };
    let actual = rendered(&Sampled::default(), &options, STYLE);
    compare(&actual, "short.txt", include_str!("short.txt"));
    assert!(actual.lines().count() < 60, "{actual}");
    let full = rendered(&Sampled::default(), &TextOptions::default(), STYLE);
    assert!(full.contains("MEMORY OVER TIME") && !actual.contains("MEMORY OVER TIME"));
}

#[test]
fn what_saves_too_little_is_not_at_the_head() {
    let analysis = analysis(&Sampled::default());
    let mut diagnosis = diagnose(&analysis);
    diagnosis.findings.retain(|finding| finding.id == "clone-of-owned");
    assert_eq!(diagnosis.findings.len(), 1);
    for finding in &mut diagnosis.findings {
        finding.estimate = Estimate { allocations: 40, ..Estimate::default() };
    }
    let short = |diagnosis: &Diagnosis| {
        text(&analysis, diagnosis, &TextOptions { full: false, ..TextOptions::default() }, STYLE)
    };
    let little = short(&diagnosis);
    let sentence = "nothing here is worth a change: no finding saves 2.0 % of the time or of the";
    assert!(little.contains(sentence) && !little.contains("clone-of-owned"), "{little}");
    assert!(little.contains("has the rest: 1 more finding, memory over time"), "{little}");
    assert!(text(&analysis, &diagnosis, &TextOptions::default(), STYLE).contains("clone-of-owned"));
    diagnosis.findings[0].estimate.allocations = 41;
    assert!(short(&diagnosis).contains("clone-of-owned"), "a fiftieth of 2,003 requests");
    // What slows the heap from outside has no estimate.
    diagnosis.findings[0].estimate = Estimate::default();
    assert!(short(&diagnosis).contains("clone-of-owned"));
}

#[test]
fn what_matters_more_stands_before_what_saves_enough() {
    let analysis = analysis(&Sampled::default());
    let mut diagnosis = diagnose(&analysis);
    let findings = &mut diagnosis.findings;
    findings.truncate(1);
    let saves = |allocations| Estimate { allocations, ..Estimate::default() };
    findings[0].estimate = saves(41);
    let less = |severity, title: &str| Finding {
        severity,
        title: title.to_owned(),
        estimate: saves(40),
        ..findings[0].clone()
    };
    let before = [less(Severity::Medium, "matters more"), less(Severity::Low, "matters less")];
    let behind = less(Severity::Medium, "stands behind");
    findings.splice(0..0, before);
    findings.push(behind);
    let options = TextOptions { full: false, ..TextOptions::default() };
    let report = text(&analysis, &diagnosis, &options, STYLE);
    assert!(report.contains("1. matters more") && report.contains("\n  3. "), "{report}");
    assert!(!report.contains("matters less") && !report.contains("stands behind"), "{report}");
    assert!(report.contains("has the rest: 2 more findings"), "{report}");
    // If none saves enough, none is shown.
    diagnosis.findings.remove(2);
    let report = text(&analysis, &diagnosis, &options, STYLE);
    assert!(
        report.contains("nothing here is worth a change") && !report.contains("matters more"),
        "{report}"
    );
}

#[test]
fn findings_that_save_enough_together_only_are_shown_and_it_is_said() {
    let analysis = analysis(&Sampled { takes: Some(1), ..Sampled::default() });
    let mut diagnosis = diagnose(&analysis);
    diagnosis.findings.truncate(1);
    // Each saves a hundredth of the run; one is at the place of another, and one saves no time.
    let hundredth = Nanos(analysis.duration.0 / 100);
    let of = |site: u32| Finding {
        sites: vec![SiteId(site)],
        title: format!("at site {site}"),
        estimate: Estimate { allocations: 1, time: hundredth, ..Estimate::default() },
        ..diagnosis.findings[0].clone()
    };
    let memory = Finding { estimate: Estimate { peak_bytes: Bytes(1), ..Estimate::default() }, ..of(2) };
    let findings = [of(0), of(1), of(1), memory];
    let report = |n: usize| {
        let diagnosis = Diagnosis { findings: findings[..n].to_vec(), ..diagnosis.clone() };
        text(&analysis, &diagnosis, &TextOptions { full: false, ..TextOptions::default() }, STYLE)
    };
    let together = report(4);
    assert!(together.contains("no finding saves 2.0 % of the time alone; 2 together save "), "{together}");
    assert!(together.contains("1. at site 0") && together.contains("2. at site 1"), "{together}");
    let little = report(1);
    assert!(little.contains("nothing here is worth a change") && !little.contains("together"), "{little}");
}

#[test]
fn where_calls_take_time_and_no_finding_saves_it_places_stand_out() {
    for (takes, is_much) in [(1, false), (40, true)] {
        let analysis = analysis(&Sampled { takes: Some(takes), ..Sampled::default() });
        let mut diagnosis = diagnose(&analysis);
        diagnosis.findings.truncate(1);
        diagnosis.findings[0].estimate = Estimate { allocations: 1, ..Estimate::default() };
        let options = TextOptions { full: false, ..TextOptions::default() };
        let report = text(&analysis, &diagnosis, &options, STYLE);
        let place = "contest::main (contest/src/main.rs:17) makes 50 % of all allocations";
        assert_eq!(report.contains(place), is_much, "{report}");
        assert_eq!(report.contains("nothing here is worth a change"), !is_much, "{report}");
        assert!(report.contains("no finding saves 2.0 % of the time or of"), "{report}");
    }
}

#[test]
fn where_one_place_has_nearly_all_those_of_the_packages_that_it_calls_follow() {
    let short = TextOptions { full: false, ..TextOptions::default() };
    let report = rendered(&Sampled { packages: Some(17), ..Sampled::default() }, &short, STYLE);
    let (before, inside) = report
        .split_once("OF THESE, IN PACKAGES  that contest::main (main.rs:17) calls: 100 % of all\n")
        .expect(&report);
    assert!(before.contains("contest::main  contest/src/main.rs:17"), "{report}");
    assert!(
        !before.contains("main.rs:21") && before.contains("and 2 more places"),
        "a thousandth is no row: {report}"
    );
    let text = "1,000     23.4 KiB  json::read::Parser::text\n                                    json-1.2.3/src/read.rs:30\n";
    let insert = "1,000      175 KiB  tree::Node::insert\n                                    tree-4.5.6/src/node.rs:50\n";
    assert!(inside.contains(text) && inside.contains(insert), "{report}");
    // Where more rows are asked for, none is left out; where two places share it, they are enough.
    let full =
        rendered(&Sampled { packages: Some(17), ..Sampled::default() }, &TextOptions::default(), STYLE);
    assert!(full.contains("OF THESE, IN PACKAGES") && full.contains("main.rs:21"), "{full}");
    let shared = rendered(&Sampled { packages: Some(18), ..Sampled::default() }, &short, STYLE);
    assert!(!shared.contains("IN PACKAGES") && shared.contains("main.rs:18"), "{shared}");
}

#[test]
fn findings_come_with_the_source_line_if_it_is_there() {
    let code = "    let name = other.clone(); // \u{1b}[2J";
    let source =
        SourceLines::new(move |file, line| (file.ends_with("parse.rs") && line == 42).then(|| code.into()));
    let report = rendered(&Sampled::default(), &TextOptions { source, ..TextOptions::default() }, STYLE);
    assert!(report.contains("│ let name = other.clone(); // \\u{1b}[2J\n"), "{report}");
    let without = rendered(&Sampled::default(), &TextOptions::default(), STYLE);
    assert!(!without.contains('│'), "{without}");
    let both = [&report, &without].map(|r| r.contains("clone-of-owned") && r.contains("Borrow instead"));
    assert_eq!(both, [true, true], "{report}");
}

#[test]
fn without_findings_there_are_bullets() {
    let analysis = analysis(&Sampled::default());
    let report = text(&analysis, &Diagnosis::default(), &TextOptions::default(), STYLE);
    assert!(
        report.contains("  - contest::main (contest/src/main.rs:17) makes 50 % of all allocations"),
        "{report}"
    );
}

#[test]
fn a_resident_set_below_the_live_peak_is_a_share_of_it() {
    let report = |rss| {
        let mut analysis = analysis(&Sampled::default());
        analysis.totals.peak_live_bytes = Bytes(1_000_000);
        (analysis.memory.peak_rss, analysis.accounting.at_peak) = (Bytes(rss), None);
        text(&analysis, &Diagnosis::default(), &TextOptions::default(), STYLE)
    };
    for (rss, words) in [
        (43_000, "4.3 % of the live peak"),
        (1_800_000, "1.8 times the live peak"),
        (200_000_000, "mostly not heap"),
    ] {
        let report = report(rss);
        assert!(report.contains(words), "{report}");
    }
}

#[test]
fn new_pages_of_large_blocks_are_time_although_no_call_takes_it() {
    let report = |copy, system_ns| {
        let mut analysis = analysis(&Sampled { takes: Some(1), copy, ..Sampled::default() });
        analysis.end.as_mut().expect("it ended").system_ns = system_ns;
        text(&analysis, &Diagnosis::default(), &TextOptions::default(), STYLE)
    };
    for other in [report(24, 50_000_000), report(32 << 20, 0), report(32 << 20, 1_000_000)] {
        assert!(!other.contains("new pages"), "{other}");
    }
    let large = report(32 << 20, 50_000_000);
    assert!(large.contains("new pages                 50 ms   at most"), "{large}");
}

#[test]
fn at_120_columns_with_stacks_and_a_blind_spot() {
    let options =
        TextOptions { stacks: true, folder: Some("/home/user/contest".into()), ..TextOptions::default() };
    let sampled = Sampled { blind: true, ..Sampled::default() };
    let actual = rendered(&sampled, &options, Style { color: false, width: 120 });
    compare(&actual, "at_120_columns.txt", include_str!("at_120_columns.txt"));
}

#[test]
fn why_pages_were_not_seen_is_reported_instead_of_the_accounts() {
    let mut analysis = analysis(&Sampled::default());
    let part = |analysis: &Analysis| {
        let report = text(analysis, &Diagnosis::default(), &TextOptions::default(), STYLE);
        let part = report.split_once("RESIDENT MEMORY  ").expect("a heading").1;
        part.split_once("\n\n").expect("more below it").0.to_owned()
    };
    let unseen = "not accounted for: no page was examined\n  ! ";
    // The sample has a curve of resident memory.
    assert_eq!(
        part(&analysis),
        format!("{unseen}the system probably refused: another user's process, or an undumpable one")
    );
    let curve = std::mem::take(&mut analysis.memory.rss);
    assert!(part(&analysis).starts_with(&format!("{unseen}the program probably ended too soon")));
    analysis.memory.rss = curve;
    let skipped = Warning::SkippedSections { count: 1, first: "snapshot".into() };
    analysis.warnings.push(skipped);
    assert!(part(&analysis).ends_with("is probably damaged"), "{}", part(&analysis));
    let seen = Breakdown { rss: Bytes(4096), live: Bytes(4096), ..Breakdown::default() };
    analysis.accounting.at_peak = Some(seen);
    analysis.accounting.at_end = Some(seen);
    let accounts = part(&analysis);
    assert!(
        accounts.contains("requested and not freed") && !accounts.contains("not accounted"),
        "{accounts}"
    );
}

#[test]
fn an_attached_process_that_called_nothing_is_said_to_be_idle_unless_some_of_it_is_not_seen() {
    let said = |blind| {
        let mut analysis = analysis(&Sampled { events: false, blind, ..Sampled::default() });
        analysis.meta.interception = Interception::Attach;
        let report = text(&analysis, &Diagnosis::default(), &TextOptions::default(), STYLE);
        report.split_once("NO ALLOCATION WAS SEEN\n").expect("a heading").1.to_owned()
    };
    let idle = "did not call its allocator while it was recorded";
    assert!(said(false).contains(idle), "{}", said(false));
    assert!(said(true).contains("called no allocator that is recorded") && !said(true).contains(idle));
}

#[test]
fn lines_fit_whatever_the_width() {
    for width in [0, 60, 80, 99, 120, 500] {
        for ascii in [false, true] {
            let options = TextOptions { stacks: true, ascii, ..TextOptions::default() };
            let most = width.clamp(60, 120);
            let long =
                "contest::a_module_with_a_long_name::and_another_one_inside::with_a_function_of_a_long_name";
            for function in ["contest::parse::line", long] {
                let sampled = Sampled { function, blind: true, ..Sampled::default() };
                let report = rendered(&sampled, &options, Style { color: false, width });
                for line in report.lines() {
                    assert!(line.chars().count() <= most, "{} of {most}: {line}", line.chars().count());
                    assert_eq!(line, line.trim_end());
                }
            }
        }
    }
}

/// A program most of whose memory belongs to an allocator inside of it.
#[test]
fn several_allocators_have_a_row_each_and_what_was_there_before_is_no_other_memory() {
    let mut analysis = analysis(&Sampled::default());
    let peak = Breakdown {
        rss: Bytes(20 << 20),
        live: Bytes(1 << 20),
        before: Bytes(12 << 20),
        not_heap: Bytes(7 << 20),
        ..Breakdown::default()
    };
    (analysis.accounting.at_peak, analysis.accounting.at_end) = (Some(peak), Some(peak));
    let inside = AllocatorInside {
        allocator: "jemalloc".into(),
        file: "/usr/lib/libduck.so.1".into(),
        functions: 30,
        number: 1,
    };
    let parts = Parts { live: Bytes(1 << 20), free_pages: Bytes(2 << 20), ..Parts::default() };
    let of = |number, allocations, peak: u64| OfAllocator {
        number,
        allocations,
        peak_live_bytes: Bytes(peak),
        at_peak: parts,
        ..OfAllocator::default()
    };
    let text = |analysis: &heapwise_analysis::Analysis| {
        let diagnosis = heapwise_diagnosis::diagnose(analysis);
        let report = heapwise_report::text(analysis, &diagnosis, &TextOptions::default(), STYLE);
        report.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    analysis.allocators = vec![of(AllocatorNumber::BY_NAME, 70, 5000)];
    let words = text(&analysis);
    assert!(words.contains("60 % of it from before the recording"), "{words}");
    assert!(!words.contains("ALLOCATORS"), "one needs no table: {words}");
    let theirs = OfAllocator { inside: Some(inside), ..of(AllocatorNumber(1), 4321, 9000) };
    analysis.allocators.extend([theirs, of(AllocatorNumber::OTHERS, 3, 10)]);
    let words = text(&analysis);
    assert!(words.contains("ALLOCATORS"), "{words}");
    let row = words.find("jemalloc in libduck.so.1 4,321 8.79 KiB 3.00 MiB").expect(&words);
    let others = words.find("other allocators 3 10 B 3.00 MiB").expect(&words);
    assert!(row < others, "most live bytes first: {words}");
}

#[test]
fn what_was_not_recorded_stands_where_it_would_be_judged() {
    let mut analysis = analysis(&Sampled::default());
    analysis.blind_spots = vec![BlindSpot {
        id: BlindSpot::OWN_ALLOCATOR.into(),
        what: "contains its own allocator".into(),
        remedy: "some".into(),
        allocator: "jemalloc".into(),
        file: "/usr/bin/app".into(),
    }];
    let peak = Breakdown {
        rss: Bytes(20 << 20),
        live: Bytes(1 << 20),
        unrecorded: Bytes(12 << 20),
        not_heap: Bytes(7 << 20),
        ..Breakdown::default()
    };
    (analysis.accounting.at_peak, analysis.accounting.at_end) = (Some(peak), Some(peak));
    let diagnosis = heapwise_diagnosis::diagnose(&analysis);
    let report = heapwise_report::text(&analysis, &diagnosis, &TextOptions::default(), STYLE);
    let sentence = "jemalloc inside /usr/bin/app is not recorded: 12.0 MiB of 20.0 MiB resident at the peak are unrecorded";
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("NOT SEEN ! {sentence}")), "{report}");
    assert!(words.contains("heapwise::Allocator"), "{report}");
    assert!(words.contains(&format!("Resident memory is not judged: {sentence}")), "{report}");
    assert!(words.contains("unrecorded 12.0 MiB 60 %"), "{report}");
    assert!(words.contains("60 % of it unrecorded"), "{report}");
    assert!(!words.contains("lay between two looks"), "{report}");
    assert!(
        !report.contains("mostly not heap") && !report.contains("contains its own allocator"),
        "{report}"
    );
    let json = heapwise_report::json(&analysis, &diagnosis, &Default::default());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["memory"]["verdict"]["kind"], "unrecorded");
    assert_eq!(json["withheld"][0]["what"], "verdict");
    assert_eq!(json["withheld"][0]["reason"], sentence);
    assert_eq!(json["interception"]["blind_spots"][0]["allocator"], "jemalloc");
    // A look that missed the peak is not called one.
    analysis.memory.peak_rss = Bytes(40 << 20);
    let report = heapwise_report::text(
        &analysis,
        &heapwise_diagnosis::diagnose(&analysis),
        &TextOptions::default(),
        STYLE,
    );
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("12.0 MiB of 20.0 MiB resident at 0 ns are unrecorded"), "{report}");
    assert!(words.contains("peak RSS 40.0 MiB 60 % of 20.0 MiB at 0 ns unrecorded"), "{report}");
    assert!(words.contains("the peak of 40.0 MiB lay between two looks at the pages"), "{report}");
    assert!(!words.contains("at the peak"), "{report}");
}

#[test]
fn a_place_that_pins_next_to_nothing_has_no_row() {
    let mut analysis = analysis(&Sampled::default());
    let look = |rss: u64| Some(Breakdown { rss: Bytes(rss), live: Bytes(rss), ..Breakdown::default() });
    let site = analysis.sites()[0].id;
    let mut rows = |pinned: u64, peak: u64, end: u64| {
        (analysis.accounting.at_peak, analysis.accounting.at_end) = (look(peak), look(end));
        analysis.accounting.pinned = vec![Pinned { site, bytes: Bytes(pinned), blocks: 1, pages: 1 }];
        let report = heapwise_report::text(&analysis, &Default::default(), &TextOptions::default(), STYLE);
        report.lines().filter(|line| line.trim_start().starts_with("pinned: ")).count()
    };
    let (kib, mib) = (1 << 10, 1 << 20);
    assert_eq!(rows(63 * kib, 4 * mib, 4 * mib), 0, "too little for any program");
    assert_eq!(rows(64 * kib, 4 * mib, 4 * mib), 1);
    assert_eq!(rows(mib, 101 * mib, 101 * mib), 0, "less than a hundredth");
    assert_eq!(rows(mib, 101 * mib, 100 * mib), 1, "a hundredth of what is resident at the end");
}

/// Two processes, one after the other, leave more than there ever was.
#[test]
fn what_is_live_at_the_exit_is_never_more_than_the_peak() {
    let mut analysis = analysis(&Sampled::default());
    let totals = &mut analysis.totals;
    totals.peak_live_bytes = Bytes(100 << 10);
    (totals.live_at_exit_bytes, totals.live_at_exit_blocks) = (Bytes(90 << 10), 3);
    totals.never_freed_bytes = Bytes(170 << 10);
    let report = heapwise_report::text(&analysis, &Default::default(), &TextOptions::default(), STYLE);
    let line = report.lines().find(|line| line.contains("live at exit")).expect("a row");
    assert!(line.contains("90.0 KiB"), "{line}");
    assert!(report.contains("170 KiB never freed"), "{report}");
}

#[test]
fn caveats_come_before_all_numbers() {
    let report = rendered(&Sampled { blind: true, ..Sampled::default() }, &TextOptions::default(), STYLE);
    let at = |what: &str| report.find(what).unwrap_or_else(|| panic!("no {what} in\n{report}"));
    assert!(at("NOT SEEN") < at("TOTALS"));
    assert!(at("link it dynamically") < at("TOTALS"));
    assert!(at("FINDINGS") < at("MOST ALLOCATIONS"));
}

#[test]
fn a_recording_without_events_says_why() {
    for blind in [false, true] {
        let report =
            rendered(&Sampled { events: false, blind, ..Sampled::default() }, &TextOptions::default(), STYLE);
        assert!(report.contains("NO ALLOCATION WAS SEEN"), "{report}");
        let has_no_process = report.contains("No process joined");
        assert_eq!(report.contains("nothing was recorded"), has_no_process, "{report}");
        let has_a_reason = report.contains("linked statically") || report.contains("link it dynamically");
        assert_eq!(has_a_reason, has_no_process || blind, "{report}");
        assert_eq!(report.contains("needs no memory of the heap"), !has_no_process && !blind, "{report}");
    }
}

#[test]
fn names_of_the_program_cannot_reach_the_terminal() {
    let sampled = Sampled {
        command: "evil\x1b]0;title\x07 \u{202e}arg",
        function: "contest::\x1b[2Jparse\r\n::\u{9b}31mline",
        thread: "th\x1b[31mread",
        blind: true,
        ..Sampled::default()
    };
    for stacks in [false, true] {
        let report = rendered(&sampled, &TextOptions { stacks, ..TextOptions::default() }, STYLE);
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!report.contains(bad), "{:?}", report.lines().find(|l| l.contains(bad)));
        assert!(report.contains("\\u{1b}[2J"), "{report}");
    }
}

#[test]
fn colours_only_if_they_are_understood() {
    let with = rendered(&Sampled::default(), &TextOptions::default(), Style { color: true, width: 80 });
    let without = rendered(&Sampled::default(), &TextOptions::default(), STYLE);
    assert!(with.contains("\x1b[") && !without.contains('\x1b'));
    let mut stripped = String::new();
    let mut rest = with.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        stripped.push_str(before);
        rest = after.split_once('m').map_or("", |s| s.1);
    }
    stripped.push_str(rest);
    assert_eq!(stripped, without);
}

#[test]
fn the_chart_does_without_other_characters_if_asked() {
    let report = rendered(&Sampled::default(), &TextOptions { ascii: true, ..TextOptions::default() }, STYLE);
    let chart =
        report.split("MEMORY OVER TIME").nth(1).and_then(|r| r.split("\n\n").next()).expect("a chart");
    assert!(chart.is_ascii(), "{chart}");
}
