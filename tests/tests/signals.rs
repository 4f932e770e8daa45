//! Signal handlers that allocate, wherever their stacks are and whatever they interrupt: what the program counts is what was
//! recorded or counted as lost, and nothing is invented.
//!
//! `HEAPWISE_STORM=20000` sends so many signals in each case, where usually a few hundred will do.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run};
use heapwise_trace::event::Event;
use heapwise_trace::file::Reader;
use heapwise_trace::file::reader::Section;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// No block of the victim is larger, nor one that the C library takes for it.
const LARGEST: u64 = 128 << 10;

fn counted(name: &str) -> PathBuf {
    let all = Victim::all_in("victims/counted");
    let victim = all.iter().find(|victim| victim.name == name);
    build(victim.unwrap_or_else(|| panic!("there is no victim {name}")), FlagSet::Release)
}

/// The allocators to try, by what has to be preloaded. The second one may be interrupted anywhere, and is.
fn allocators() -> Vec<(&'static str, Option<PathBuf>)> {
    let mut all = vec![("glibc", None), ("interruptible", Some(counted("plugin_interruptible")))];
    for name in ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"] {
        all.extend(programs::library(name).map(|path| (name, Some(path))));
    }
    all
}

fn record(folder: &Path, preload: Option<&Path>, arguments: &[&str]) -> Recorded {
    let mut recording = Recording::new(folder).verify(5);
    if let Some(library) = preload {
        recording = recording.variable("LD_PRELOAD", &library.to_string_lossy());
    }
    let recorded = recording.record(counted("signal_storm"), arguments);
    assert_eq!(recorded.outcome.code(), 0, "{arguments:?}: {}", recorded.outcome.stderr);
    recorded
}

/// What the victim has counted.
fn calls(recorded: &Recorded) -> u64 {
    let text = recorded.outcome.text();
    let numbers = text.strip_prefix("calls ").unwrap_or_else(|| panic!("it has not counted: {text}"));
    numbers.split_whitespace().map(|n| n.parse::<u64>().expect("a number")).sum()
}

/// What was recorded, and what was lost.
fn events(recorded: &Recorded) -> (u64, u64) {
    let totals = &recorded.report().totals;
    (totals.allocations + totals.reallocations + totals.deallocations, totals.lost_events)
}

fn largest_block(file: &Path) -> u64 {
    let file = BufReader::new(File::open(file).expect("it was recorded"));
    let mut reader = Reader::new(file).expect("a recording");
    let mut largest = 0;
    while let Some(section) = reader.next_section().expect("it is whole") {
        let Section::Events(events) = section else { continue };
        for event in events.blocks().flat_map(|block| block.events()) {
            if let Event::Alloc { size, .. } | Event::Realloc { size, .. } | Event::ReallocEnd { size, .. } =
                event
            {
                largest = largest.max(size);
            }
        }
    }
    largest
}

fn signals() -> String {
    std::env::var("HEAPWISE_STORM").unwrap_or_else(|_| "500".into())
}

#[test]
fn every_call_is_recorded_or_counted_as_lost() {
    let folder = run::private_folder();
    let (mut all_lost, mut all_verified) = (0, 0);
    for (name, preload) in allocators() {
        // The others differ from the first two in nothing that has to do with where a stack is.
        let places = ["within", "above", "below", "none"];
        let places = if name.ends_with("able") || name == "glibc" { &places[..] } else { &places[..2] };
        for &place in places {
            // What everything but the storm does: the start of the program and its threads.
            let calm = record(folder.path(), preload.as_deref(), &["0", place]);
            let (others, _) = events(&calm);
            let others = others - calls(&calm);
            let storm = record(folder.path(), preload.as_deref(), &[&signals(), place]);
            let ((seen, lost), calls) = (events(&storm), calls(&storm));
            let report = storm.report();
            let what = format!("{name}, handler's stack {place}: {calls} calls, {lost} lost");
            eprintln!("{what}, {:?}", report.stacks);
            assert_eq!(seen + lost - others, calls, "{what}");
            assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0), "{what}");
            assert!(largest_block(&storm.file) <= LARGEST, "{what}: an invented block");
            assert_eq!(report.stacks.verify_failed, 0, "{what}: {:?}", report.stacks);
            all_lost += lost;
            // One stack in five is walked twice, and a storm may leave fewer than that of one allocator.
            all_verified += report.stacks.verified;
        }
    }
    assert!(all_verified > 0, "no stack was walked twice");
    assert!(all_lost > 0, "no signal has struck while the recorder was at work");
}

#[test]
fn a_handler_that_jumps_away_does_not_end_the_recording() {
    let folder = run::private_folder();
    for (name, preload) in allocators().into_iter().take(2) {
        for place in ["within", "above"] {
            let storm = record(folder.path(), preload.as_deref(), &[&signals(), place, "jump"]);
            let ((seen, lost), calls) = (events(&storm), calls(&storm));
            let what =
                format!("{name}, handler's stack {place}: {calls} calls, {seen} recorded, {lost} lost");
            eprintln!("{what}");
            // A jump leaves a call that one side has counted and the other has not; a few are the program's start.
            let jumps = signals().parse::<u64>().expect("a number") / 10;
            assert!((seen + lost).abs_diff(calls) <= 2 * jumps + 200, "{what}");
            assert!(largest_block(&storm.file) <= LARGEST, "{what}: an invented block");
            assert_eq!(storm.report().stacks.verify_failed, 0, "{what}");
        }
    }
}
