//! What programs say of themselves by `heapwise_mark`, from the call to the reports.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::export::firefox::Profile;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::run::{self, private_folder};
use heapwise_tests::tool::heapwise;
use heapwise_tests::victim::Victim;
use heapwise_trace::live::layout::{MARK_NAME_BYTES, MAX_MARK_NAMES};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn recorded(folder: &Path, recording: Recording) -> (Recorded, Value) {
    let program = build(&Victim::named("marks_and_spans"), FlagSet::Release);
    let recorded = recording.record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let report = fs::read_to_string(folder.join("report.json")).expect("a report");
    let report = serde_json::from_str(&report).expect("it is JSON");
    (recorded, report)
}

fn span<'a>(report: &'a Value, name: &str) -> &'a Value {
    let spans = report["spans"].as_array().expect("a list");
    spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("no span {name}"))
}

/// Count, requests and bytes of a span, and how many were seen in half.
fn facts(report: &Value, name: &str) -> [u64; 6] {
    let fields = ["count", "allocations", "reallocations", "allocated_bytes", "unended", "unbegun"];
    fields.map(|field| span(report, name)[field].as_u64().expect("a number"))
}

#[test]
fn spans_count_exactly_what_their_thread_did() {
    let folder = private_folder();
    let folder = folder.path();
    let (recorded, report) = recorded(folder, Recording::new(folder));
    assert!(recorded.outcome.stderr.contains("recording: 1\n"), "{}", recorded.outcome.stderr);
    assert!(recorded.outcome.stderr.contains("recording in the child: 1\n"), "{}", recorded.outcome.stderr);
    assert_eq!(report["totals"]["lost_events"], 0);

    // One in the parent with all its items, one in the child; and an end too many.
    assert_eq!(facts(&report, "load"), [2, 101 + 1, 1, 1000 + 100 * 100 + 5000 + 77, 0, 1]);
    assert_eq!(facts(&report, "item"), [100, 100, 0, 10_000, 1, 0]);
    assert_eq!(span(&report, "load")["largest_growth_bytes"], 5000 + 100 * 100);
    assert_eq!(span(&report, "item")["largest_growth_bytes"], 100);
    assert_eq!(facts(&report, "work"), [800, 800, 0, 40_000, 0, 0]);
    assert_eq!(span(&report, "work")["deallocations"], 800);
    assert_eq!(span(&report, "work")["largest_growth_bytes"], 0);
    for round in [0, 7, 199] {
        assert_eq!(facts(&report, &format!("round {round}")), [4, 4, 0, 200, 0, 0]);
    }
    assert_eq!(facts(&report, "child"), [1, 10, 0, 770, 0, 0]);
    // Ended by another thread; and by the child besides the parent.
    assert_eq!(facts(&report, "crossing"), [0, 0, 0, 0, 1, 1]);
    assert_eq!(facts(&report, "forking")[..1], [1]);
    assert_eq!(facts(&report, "forking")[4..], [0, 1]);
    assert_eq!(facts(&report, "freeing"), [1, 0, 0, 0, 0, 0]);
    assert_eq!(span(&report, "freeing")["deallocations"], 101);
    assert_eq!(span(&report, "freeing")["largest_growth_bytes"], -(5000 + 100 * 100));
    // There was no room for its name.
    assert_eq!(facts(&report, "(other names)"), [1, 1, 0, 50, 0, 0]);
}

#[test]
fn times_are_those_of_the_processor_and_not_of_the_recordings_clock() {
    let folder = private_folder();
    let folder = folder.path();
    let (_, report) = recorded(folder, Recording::new(folder));
    let nanos = |name: &str, field: &str| span(&report, name)[field].as_u64().expect("a number");
    // A span of one allocation takes less than the millisecond in which that clock moves, and more than nothing.
    assert!((1..1_000_000).contains(&nanos("item", "shortest_ns")), "{}", span(&report, "item"));
    for name in ["item", "work", "load"] {
        let [least, most, all] = ["shortest_ns", "longest_ns", "total_ns"].map(|field| nanos(name, field));
        assert!(least <= most && most <= all, "{name}: {least}, {most}, {all}");
    }
    assert!(nanos("load", "longest_ns") >= nanos("item", "total_ns"), "they are inside of it");
}

#[test]
fn single_marks_have_their_time_thread_and_memory() {
    let folder = private_folder();
    let folder = folder.path();
    let (_, report) = recorded(folder, Recording::new(folder));
    let marks = report["memory"]["marks"].as_array().expect("a list");
    assert!(marks.is_sorted_by_key(|mark| mark["time_ns"].as_u64()));
    let all = |name: &str| marks.iter().filter(|mark| mark["name"] == name).collect::<Vec<_>>();
    let only = |name: &str| {
        let found = all(name);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        found[0]
    };
    // What the C library itself had allocated by then is there, too.
    let live = only("loaded")["live_bytes"].as_u64().expect("a number");
    assert!((15_000..20_000).contains(&live), "{live}");
    assert!(only("loaded")["rss_bytes"].as_u64().is_none_or(|rss| rss > 100_000));
    assert_eq!(only("by the weak symbol")["kind"], "point");
    let threads: Vec<_> = (0..4).map(|n| only(&format!("thread {n} is done"))["thread"].as_u64()).collect();
    let different: std::collections::BTreeSet<_> = threads.iter().collect();
    assert_eq!(different.len(), 4, "{threads:?}");
    let child = &all("child")[0];
    assert_ne!(child["process"], only("loaded")["process"]);
    assert_eq!((&child["kind"], &all("child")[1]["kind"]), (&"begin".into(), &"end".into()));
}

#[test]
fn what_there_is_no_room_for_is_counted_and_said() {
    let folder = private_folder();
    let folder = folder.path();
    let (_, report) = recorded(folder, Recording::new(folder));
    let marks = report["memory"]["marks"].as_array().expect("a list");
    let listed = marks.len() as u64;
    let not_listed = report["memory"]["marks_not_listed"].as_u64().expect("a number");
    // 1 weak, 2 load, 200 items, loaded, crossing, 4 × (200 × 4 + 1) and its end, forking twice and its end, child, load, freeing,
    // 5000 names, one too late, the two odd ones, and the last two.
    let expected = 1 + 2 + 200 + 1 + 1 + 4 * (200 * 4 + 1) + 1 + 3 + 2 + 2 + 2 + 5000 + 2 + 2 + 2;
    assert_eq!(listed + not_listed, expected);
    assert!(listed <= 10_000);

    let called = |name: &str| marks.iter().filter(|mark| mark["name"] == name).count();
    // The table was full before the last thousand.
    let own = 12 + 200 + 2;
    assert_eq!((called("name 0"), called(&format!("name {}", MAX_MARK_NAMES - own - 1))), (1, 1));
    assert_eq!((called(&format!("name {}", MAX_MARK_NAMES - own)), called("name 4999")), (0, 0));
    assert!(called("(other names)") > 100);
    let cut = format!("{}…", "x".repeat(MARK_NAME_BYTES - 3));
    assert_eq!((called(&cut), called(""), called("no such kind")), (1, 1, 0));
}

#[test]
fn everything_else_works_as_without_marks() {
    let folder = private_folder();
    let folder = folder.path();
    let (recorded, report) = recorded(folder, Recording::new(folder));
    let file = recorded.file.to_str().expect("a path");
    let heapwise = |arguments: &[&str]| {
        let outcome = run::finish(run::command(heapwise(), folder).args(arguments), folder, "heapwise");
        assert_eq!(outcome.code(), 0, "{arguments:?}: {}", outcome.stderr);
        outcome.text()
    };
    let text = heapwise(&["report", file, "--top", "3"]);
    assert!(text.contains("\nMARKS  3 of "), "{text}");
    assert!(text.contains("\nSPANS  "), "{text}");
    assert!(heapwise(&["report", file, "--format", "markdown"]).contains("#### Spans"));
    heapwise(&["report", file, "--format", "html", "-o", "page.html"]);
    assert!(fs::read_to_string(folder.join("page.html")).expect("a page").contains("by the weak symbol"));
    for format in ["pprof", "folded", "dhat", "firefox"] {
        heapwise(&["export", file, "--to", format, "-o", &format!("exported.{format}")]);
    }
    let profile = Profile::read(&folder.join("exported.firefox"));
    let loaded = profile.markers().into_iter().find(|(name, ..)| *name == "loaded").expect("a marker");
    assert!(loaded.1.is_some() && loaded.2.is_none(), "{loaded:?}");
    let freeing = profile.markers().into_iter().find(|(name, ..)| *name == "freeing").expect("a marker");
    assert!(freeing.1 <= freeing.2 && loaded.1 <= freeing.1, "{freeing:?}");
    heapwise(&["diff", file, file]);
    // A replay does what the program did; what the program said is nothing to be done.
    let replay = heapwise(&["replay", file, "--with", "glibc", "--runs", "1", "--format", "json"]);
    let replay: Value = serde_json::from_str(&replay).expect("it is JSON");
    let processes = report["processes"].as_array().expect("a list");
    let parent =
        &processes.iter().find(|process| process["forked"] == false).expect("the first one")["totals"];
    for count in ["allocations", "reallocations", "deallocations"] {
        assert_eq!(replay["script"][count], parent[count], "{}", replay["script"]);
    }
}

#[test]
fn nothing_is_marked_while_nothing_is_recorded() {
    let folder = private_folder();
    let folder = folder.path();
    let (recorded, report) = recorded(folder, Recording::new(folder).with(&["--delay", "1h"]));
    assert!(recorded.outcome.stderr.contains("recording: 0\n"), "{}", recorded.outcome.stderr);
    assert_eq!(
        (&report["memory"]["marks"], &report["spans"]),
        (&Value::Array(vec![]), &Value::Array(vec![]))
    );
}
