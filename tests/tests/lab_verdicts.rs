//! Each experiment of the lab has a known answer: a recording of its worker gives it, whichever allocator the worker has.

use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::report::Finding;
use heapwise_tests::{run, tool};
use std::path::PathBuf;

/// The allocators that a worker has: the system's, and those of which it is given the library.
const ALLOCATORS: [&str; 3] = ["default", "jemalloc", "mimalloc"];

fn library(allocator: &str) -> Option<PathBuf> {
    (allocator != "default").then(|| tool::allocator(allocator))
}

fn record(allocator: &str, words: &[&str]) -> Recorded {
    let folder = run::private_folder();
    // Files of the contest program, beside those of other tests.
    let files = folder.path().display().to_string();
    let mut recording = Recording::new(folder.path()).variable("HEAPWISE_LAB_FOLDER", &files);
    if let Some(library) = library(allocator) {
        recording = recording.variable("LD_PRELOAD", &library.to_string_lossy());
    }
    let recorded = recording.record(tool::optimised_lab_worker(), words);
    assert_eq!(recorded.outcome.code(), 0, "{allocator} {words:?}: {}", recorded.outcome.stderr);
    // The worker names the object that its `malloc` was in.
    if let Some(library) = library(allocator) {
        let said = recorded.outcome.text();
        assert!(said.contains(&*library.to_string_lossy()) || said.contains("/fd/"), "{said}");
    }
    recorded
}

/// The kind of the verdict on resident memory.
fn verdict(recorded: &Recorded) -> String {
    recorded.report().memory.verdict.as_ref().map(|verdict| verdict.kind.clone()).unwrap_or_default()
}

/// The first finding about a place of the program. Its surroundings are what this test gives it, and for how long its allocator
/// keeps pages is for how long the machine lets it run: `verdict` is asked where that is what an experiment is about.
fn first_finding(recorded: &Recorded) -> String {
    let mut placed = recorded.report().findings.iter().filter(|finding| !finding.sites.is_empty());
    placed.next().map(|finding| finding.id.clone()).unwrap_or_default()
}

/// Small blocks that stay between large ones that are gone pin pages where one heap has both, and only there: these two allocators
/// have pages for each size.
#[test]
fn blocks_that_stay_between_others_are_external_fragmentation_where_pages_have_both() {
    let expected = ["external-fragmentation", "free-pages", "free-pages"];
    for (allocator, expected) in ALLOCATORS.into_iter().zip(expected) {
        // They stay for three seconds: a busy machine may need some for the blocks, and what is so for less than a part of the
        // program's life is no verdict.
        let recorded = record(allocator, &["alternating", "20000", "1", "3000"]);
        assert_eq!(verdict(&recorded), expected, "{allocator}");
        let pinned = recorded.report().memory.pinned.first().map_or(0, |pinned| pinned.bytes);
        assert_eq!(pinned > 30 << 20, allocator == "default", "{allocator}: {pinned} bytes are pinned");
    }
}

/// What is left of a load when it is over. glibc returns most of it, since its heap ends with what was freed.
#[test]
fn what_is_left_when_connections_are_closed_is_free_pages() {
    for allocator in ["jemalloc", "mimalloc"] {
        // It goes on like this for three seconds, for the same reason.
        let recorded = record(allocator, &["connections", "100000", "3000"]);
        assert_eq!(verdict(&recorded), "free-pages", "{allocator}");
    }
}

#[test]
fn blocks_that_another_thread_frees_are_found() {
    for allocator in ALLOCATORS {
        let recorded = record(allocator, &["handed", "20000", "8", "1000", "1"]);
        assert_eq!(first_finding(&recorded), "cross-thread-free", "{allocator}");
        let same = record(allocator, &["handed", "20000", "8", "1000", "0"]);
        assert_ne!(first_finding(&same), "cross-thread-free", "{allocator}");
    }
}

#[test]
fn the_first_version_of_the_contest_clones_too_much() {
    for allocator in ALLOCATORS {
        // Enough rounds that what the program does besides, at its beginning, is a small part of its time.
        let recorded = record(allocator, &["contest", "2000", "1", "100"]);
        let findings = &recorded.report().findings;
        let calls = |finding: &Finding| finding.estimate.allocations + finding.estimate.reallocations;
        let most = findings.iter().max_by_key(|finding| calls(finding)).expect("there are some");
        assert_eq!((most.id.as_str(), most.severity.as_str()), ("clone-of-owned", "high"), "{allocator}");
        // It comes first, unless calls for the strings of a document really took half as long again: beside programs that need the caches
        // these took twice as long as on an idle machine, and the copies did not.
        let first = &findings[0];
        let (of_most, of_first) = (most.estimate.time_ns, first.estimate.time_ns);
        let is_slower =
            first.id == "owned-deserialization" && findings[1].id == most.id && of_most * 3 < of_first * 2;
        assert!(first.id == most.id || is_slower, "{allocator}: {:?}", &findings[..2]);
        let better = record(allocator, &["contest", "2000", "7", "5"]);
        assert!(
            !["clone-of-owned", "owned-deserialization"].contains(&&*first_finding(&better)),
            "{allocator}"
        );
    }
}

/// The work before and after, and the finding that is about the habit.
const HABITS: [(&str, &str, &str); 3] = [
    ("clone", "20000", "clone-of-owned"),
    ("reuse", "20000", "reuse-in-loop"),
    ("borrow", "20000", "clone-per-lookup"),
];

#[test]
fn each_habit_is_found_before_and_not_after() {
    for allocator in ALLOCATORS {
        for (workload, texts, finding) in HABITS {
            let place = |way| {
                let recorded = record(allocator, &[workload, texts, way]);
                let report = recorded.report();
                let about =
                    report.findings.iter().find(|one| one.id == finding && !one.title.starts_with("texts"));
                about.map(|one| one.title.clone())
            };
            assert!(place("0").is_some(), "{allocator}: {workload}");
            assert_eq!(place("1"), None, "{allocator}: {workload}");
        }
    }
}

/// A list of a known length that is made anew in a loop is to be kept, whether it grows or not: what growing costs is in the estimate.
#[test]
fn a_list_that_grows_is_found_and_with_its_capacity_it_does_not_grow() {
    for allocator in ALLOCATORS {
        let reallocations = |way| {
            let recorded = record(allocator, &["capacity", "200000", way]);
            let estimates = recorded.report().findings.iter().map(|finding| finding.estimate);
            estimates.map(|estimate| estimate.reallocations).sum::<u64>()
        };
        // Five for each of 40,000 lists.
        let before = reallocations("0");
        assert!(before >= 199_000, "{allocator}: {before}");
        assert_eq!(reallocations("1"), 0, "{allocator}");
    }
}

#[test]
fn tables_with_a_box_for_each_word_and_slow_hash_functions_are_found() {
    for allocator in ALLOCATORS {
        assert_eq!(
            first_finding(&record(allocator, &["words-chained", "100000"])),
            "small-boxes",
            "{allocator}"
        );
        let in_one_block = record(allocator, &["words-arena", "100000"]);
        assert!(!in_one_block.report().findings.iter().any(|one| one.id == "small-boxes"), "{allocator}");
        let hashed = |way| {
            let recorded = record(allocator, &["maps", "50000", way]);
            recorded.report().findings.iter().any(|finding| finding.id == "slow-hasher")
        };
        assert_eq!([hashed("0"), hashed("1"), hashed("2")], [true, false, false], "{allocator}");
    }
}
