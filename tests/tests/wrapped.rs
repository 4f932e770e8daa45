//! Programs that have wrapped their allocator record themselves: every call, with its stack, whatever is below the wrapper
//! and however they are linked.
//!
//! What they did they say themselves: an allocator below the wrapper has counted it.

use heapwise_tests::recording::{Recorded, Recording, report_on};
use heapwise_tests::report::Report;
use heapwise_tests::run::Outcome;
use heapwise_tests::{run, tool};
use heapwise_trace::event::Event;
use heapwise_trace::file::Reader;
use heapwise_trace::file::reader::Section;
use std::path::{Path, PathBuf};

/// Records a program, and finds everything that it counted.
fn exact(program: &Path, allocator: &str) -> Recorded {
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).verify(10).record(program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let report = recorded.report();
    let [allocations, reallocations, bytes] = recorded.outcome.counted();
    let totals = &report.totals;
    assert_eq!(
        [totals.allocations, totals.reallocations, totals.allocated_bytes],
        [allocations, reallocations, bytes],
        "recorded (left) and counted (right)"
    );
    assert!(allocations > 10_000 && reallocations > 1_000, "it has done its work twice");
    assert_eq!(totals.lost_events, 0);
    assert_eq!(report.interception.mode, "wrapper");
    assert_eq!(report.interception.allocator, allocator);
    let spots: Vec<_> = report.interception.blind_spots.iter().map(|spot| spot.id.as_str()).collect();
    assert!(spots.is_empty() || spots == ["beside-the-wrapper"], "{spots:?}");
    assert!(report.stacks.verified > 1_000 && report.stacks.verify_failed == 0, "{:?}", report.stacks);
    assert_eq!(report.processes.len(), 2, "it has started itself once more");
    let names: Vec<_> = report.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert!(names.contains(&"worker 3"), "{names:?}");
    recorded
}

/// The stacks lead from the user's line to the start of the thread, and heapwise is not in them.
fn has_whole_stacks(recorded: &Recorded) {
    let report = recorded.report();
    let nested = report.sites.iter().filter(|site| {
        report.stack(site).any(|frame| frame.function.as_deref().is_some_and(|name| name.contains("nested")))
    });
    let mut n_sites = 0;
    for site in nested {
        n_sites += 1;
        for frame in report.stack(site) {
            let file = frame.file.as_deref().unwrap_or_default();
            assert!(
                !file.contains("heapwise-recorder/") && !file.ends_with("heapwise/src/allocator.rs"),
                "{frame:?}"
            );
        }
    }
    assert!(n_sites >= 3, "{n_sites} sites");
    assert_eq!(report.stacks.cut_captures, 0, "no stack ends early");
}

#[test]
fn over_the_systems_allocator() {
    for profile in ["dev", "release"] {
        let program = tool::victim_wrapped("wrapped_system", profile);
        // The system's allocator is below one that counts, and so has the name of that.
        has_whole_stacks(&exact(&program, "victims_wrapped::Counting<std::alloc::System>"));
    }
}

#[test]
fn over_jemalloc_that_is_linked_in() {
    let program = tool::victim_wrapped("wrapped_jemalloc", "release");
    let recorded = exact(&program, "victims_wrapped::Counting<tikv_jemallocator::Jemalloc>");
    has_whole_stacks(&recorded);
}

#[test]
fn it_is_replayed_with_what_it_had_first() {
    let program = tool::victim_wrapped("wrapped_jemalloc", "release");
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(&program, &["child"]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let mut replay = run::command(tool::heapwise(), folder.path());
    replay.arg("replay").arg(&recorded.file).args([
        "--with",
        "default,glibc",
        "--runs",
        "2",
        "--format",
        "json",
    ]);
    let outcome = run::finish(&mut replay, folder.path(), "replay");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let replayed: serde_json::Value = serde_json::from_str(&outcome.text()).expect("it is JSON");
    let names: Vec<_> =
        replayed["candidates"].as_array().expect("a list").iter().map(|c| &c["allocator"]).collect();
    assert_eq!(names, ["jemalloc", "glibc"]);
}

#[test]
fn over_mimalloc_that_is_linked_in() {
    let program = tool::victim_wrapped("wrapped_mimalloc", "release");
    has_whole_stacks(&exact(&program, "victims_wrapped::Counting<mimalloc::MiMalloc>"));
}

/// Where a program is that was linked without shared libraries.
fn static_program(target: &str) -> PathBuf {
    let program = tool::static_victim("wrapped_system", target);
    let file = std::fs::read(&program).expect("it was built");
    assert!(!file.windows(10).any(|part| part == b"/ld-linux-"), "no loader is asked for");
    program
}

#[test]
fn in_a_program_that_is_linked_statically_against_glibc() {
    let program = static_program("x86_64-unknown-linux-gnu");
    has_whole_stacks(&exact(&program, "victims_wrapped::Counting<std::alloc::System>"));
}

#[test]
fn in_a_program_with_musl() {
    if !tool::has_target("x86_64-unknown-linux-musl") {
        return;
    }
    let program = static_program("x86_64-unknown-linux-musl");
    has_whole_stacks(&exact(&program, "victims_wrapped::Counting<std::alloc::System>"));
}

#[test]
fn the_preload_library_can_take_its_place() {
    let program = tool::victim_wrapped("wrapped_system", "release");
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).with(&["--recorder", "preload"]).record(&program, &[]);
    let report = recorded.report();
    let [allocations, reallocations, bytes] = recorded.outcome.counted();
    let totals = &report.totals;
    // All of that, and what the C library allocates for itself.
    assert!(totals.allocations >= allocations && totals.reallocations >= reallocations);
    assert!(totals.allocated_bytes >= bytes && totals.allocated_bytes < bytes + bytes / 10);
    assert_eq!(report.interception.mode, "preload");
}

#[test]
fn inside_of_another_recording_it_joins_the_innermost_one() {
    let program = tool::victim_wrapped("wrapped_system", "dev");
    let (folder, inside) = (run::private_folder(), run::private_folder());
    let around = Recording::new(folder.path());
    let (recorded, report) = Recording::new(inside.path()).record_inside(&around, &program);
    let [allocations, reallocations, bytes] = recorded.outcome.counted();
    let totals = &report.totals;
    assert_eq!(
        [totals.allocations, totals.reallocations, totals.allocated_bytes],
        [allocations, reallocations, bytes]
    );
    assert_eq!((report.interception.mode.as_str(), report.processes.len()), ("wrapper", 2));
    let spots = &recorded.report().interception.blind_spots;
    assert!(spots.iter().any(|s| s.id == "nested" && s.what.contains("wrapped_system")), "{spots:?}");
}

#[test]
fn a_program_that_only_uses_the_library_is_recorded_as_any_other() {
    let program = tool::victim_wrapped("not_wrapped", "dev");
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    let report = recorded.report();
    assert_eq!(report.interception.mode, "preload");
    assert!(report.totals.allocations >= 1000, "{:?}", report.totals);
}

#[test]
fn nobody_records_it_unasked() {
    let program = tool::victim_wrapped("wrapped_system", "release");
    let folder = run::private_folder();
    let mut command = run::command(&program, folder.path());
    let outcome = run::finish(&mut command, folder.path(), "alone");
    assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""));
    assert!(outcome.counted()[0] > 10_000);
    let left = std::fs::read_dir(folder.path()).expect("it can be read").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".hw")), "{left:?}");
}

#[test]
fn nobody_makes_a_privileged_program_record_itself() {
    if !heapwise_tests::programs::is_root() {
        return;
    }
    // The kernel says that the program has more rights than its caller: it belongs to root, and another user starts it.
    let folder = run::private_folder();
    let program = folder.path().join("privileged");
    std::fs::copy(tool::victim_wrapped("wrapped_system", "release"), &program).expect("it can be copied");
    let set = |path: &Path, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("it is ours");
    };
    set(&program, 0o4755);
    set(folder.path(), 0o777);
    let start = |uid: u32| {
        let mut command = run::command(&program, folder.path());
        command.arg("child").env("HEAPWISE_RECORD_TO", folder.path().join(format!("{uid}.hw")));
        std::os::unix::process::CommandExt::uid(&mut command, uid);
        let outcome = run::finish(&mut command, folder.path(), "privileged");
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        folder.path().join(format!("{uid}.hw")).exists()
    };
    assert!(start(0), "root has all rights already");
    // On a file system without rights the file is that of its maker.
    let owner = start(65534).then(|| {
        let made = std::fs::metadata(folder.path().join("65534.hw")).expect("it is there");
        std::os::unix::fs::MetadataExt::uid(&made)
    });
    assert_ne!(owner, Some(0), "a file of root's, made by another user");
}

#[test]
fn what_the_preload_library_sees_of_threads_is_handed_on() {
    let program = tool::victim_wrapped("wrapped_marks", "dev");
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    let file = std::fs::File::open(&recorded.file).expect("it was recorded");
    let mut reader = Reader::new(std::io::BufReader::new(file)).expect("a recording");
    let (mut created, mut joined) = (0, 0);
    while let Some(section) = reader.next_section().expect("a whole recording") {
        let Section::Events(events) = section else { continue };
        for event in events.blocks().flat_map(|block| block.events()) {
            created += u32::from(matches!(event, Event::ThreadCreate { .. }));
            joined += u32::from(matches!(event, Event::ThreadJoin { .. }));
        }
    }
    assert_eq!((created, joined), (1, 1));
}

/// Runs the program that records itself; returns how it ended and what it has recorded.
fn inside(way: &str) -> (Outcome, Report) {
    let program = tool::victim_wrapped("wrapped_inside", "dev");
    let folder = run::private_folder();
    let outcome = run::finish(
        run::command(&program, folder.path()).args(["own.hw", way]),
        folder.path(),
        "recorded itself",
    );
    let (_, report) = report_on(&folder.path().join("own.hw"), folder.path());
    (outcome, report.expect("the recording can be read"))
}

/// What was recorded is the phase between beginning and end, and nothing of the collector's.
fn is_one_phase(report: &Report, deallocations: u64) {
    let totals = &report.totals;
    let site =
        report.sites.iter().find(|site| site.allocations == 1000).expect("a thousand blocks at one place");
    let names = report.stack(site).filter_map(|frame| frame.function.as_deref());
    assert!(names.clone().any(|name| name.contains("phase")), "{:?}", names.collect::<Vec<_>>());
    assert!(totals.allocations >= 1001 && totals.allocations < 1020, "{totals:?}");
    assert!(totals.deallocations >= deallocations && totals.deallocations < deallocations + 20, "{totals:?}");
    assert_eq!((totals.lost_events, report.interception.mode.as_str()), (0, "inside"));
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

#[test]
fn a_part_of_a_life_is_recorded_from_inside() {
    let (outcome, report) = inside("finish");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    is_one_phase(&report, 990);
    assert_eq!(report.totals.allocations, 1001);
    assert!(outcome.text().ends_with("events, 20 blocks\n"), "{}", outcome.text());
}

#[test]
fn a_part_of_a_life_is_sampled_from_inside() {
    let (outcome, report) = inside("sample");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let (totals, sampling) = (&report.totals, report.sampling.expect("it is a sample"));
    let near = |found: u64, truth: u64, error: u64| {
        assert!(found.abs_diff(truth) <= 5 * error && 10 * error < truth, "{found} ± {error} for {truth}");
    };
    assert_eq!((sampling.sample_bytes, totals.lost_events), (4096, 0));
    near(totals.allocations, 501 * 1001, sampling.requests_error);
    near(totals.allocated_bytes, 501 * 1000 * (32 + 8), sampling.allocated_bytes_error);
    // The vector of each phase is large and always recorded, and each is freed.
    let vectors = report.sites.iter().filter(|site| site.sizes.p50.is_some_and(|size| size >= 8000));
    assert_eq!(
        vectors.map(|site| site.allocations - site.deallocations).sum::<u64>(),
        1,
        "that of the first phase stays"
    );
    assert!(sampling.requests < 20_000, "{sampling:?}");
}

#[test]
fn refused_requests_are_in_a_sample_from_inside_one_by_one() {
    let (outcome, report) = inside("refused");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!((report.totals.failed_allocations, report.totals.lost_events), (500, 0));
    let functions = |failed: u64| {
        let site = report.sites.iter().find(|site| site.failed_allocations == failed).expect("such a place");
        report.stack(site).filter_map(|frame| frame.function.as_deref()).any(|name| name.contains("refused"))
    };
    assert!(functions(300) && functions(200));
    // A block whose request for more was refused is still its owner's, and is freed once.
    assert_eq!((report.order.unknown_frees, report.order.implicit_frees), (0, 0), "{:?}", report.order);
}

#[test]
fn a_recording_that_nobody_ends_ends_with_the_process() {
    let (outcome, report) = inside("leave");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    is_one_phase(&report, 1001);
    let (outcome, report) = inside("exit");
    assert_eq!(outcome.code(), 7, "{}", outcome.stderr);
    is_one_phase(&report, 990);
}

#[test]
fn a_forked_child_leaves_its_parents_recording_alone() {
    let (outcome, report) = inside("fork");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    is_one_phase(&report, 990);
    assert_eq!(report.processes.len(), 1);
}

#[test]
fn a_process_is_recorded_once() {
    let (outcome, report) = inside("twice");
    assert!(outcome.text().starts_with("refused: this process is recorded already"), "{}", outcome.text());
    is_one_phase(&report, 1001);
    let program = tool::victim_wrapped("wrapped_inside", "dev");
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).record(&program, &["own.hw", "finish"]);
    let said = recorded.outcome.text();
    assert!(said.starts_with("refused: this process is recorded already"), "{said}");
    assert!(!folder.path().join("own.hw").exists(), "nothing is left of it");
}

#[test]
fn a_variable_records_a_whole_program() {
    let folder = run::private_folder();
    let program = tool::victim_wrapped("wrapped_system", "dev");
    let mut command = run::command(&program, folder.path());
    command.arg("child").env("HEAPWISE_RECORD_TO", "whole.hw");
    let outcome = run::finish(&mut command, folder.path(), "recorded itself");
    let (_, report) = report_on(&folder.path().join("whole.hw"), folder.path());
    let report = report.expect("the recording can be read");
    // The counter below the wrapper has counted the collector, too.
    let [allocations, reallocations, _] = outcome.counted();
    assert!(
        report.totals.allocations > 10_000 && report.totals.allocations < allocations,
        "{:?}",
        report.totals
    );
    assert!(report.totals.reallocations > 1_000 && report.totals.reallocations <= reallocations);
    assert_eq!(report.totals.lost_events, 0);
    // A file that exists is not replaced, and the program goes on.
    let again = run::finish(&mut command, folder.path(), "again");
    assert_eq!(again.code(), 0);
    assert!(
        again.stderr.starts_with("heapwise: warning: HEAPWISE_RECORD_TO: ")
            && again.stderr.contains("whole.hw"),
        "{}",
        again.stderr
    );
}

#[test]
fn marks_and_spans_arrive_with_both_recorders() {
    let program = tool::victim_wrapped("wrapped_marks", "dev");
    for recorder in ["library", "preload"] {
        let folder = run::private_folder();
        let recorded = Recording::new(folder.path()).with(&["--recorder", recorder]).record(&program, &[]);
        assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
        let report = std::fs::read_to_string(folder.path().join("report.json")).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
        let spans = report["spans"].as_array().expect("a list");
        let facts = |name: &str| {
            let span =
                spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("no span {name}"));
            ["count", "allocations", "unended", "unbegun"]
                .map(|field| span[field].as_u64().expect("a number"))
        };
        assert_eq!(facts("round"), [5, 50, 0, 0], "{recorder}");
        assert_eq!(facts("traced"), [3, 21, 0, 0], "{recorder}");
        assert_eq!(facts("in a thread"), [1, 20, 0, 0], "{recorder}");
        let marks = report["memory"]["marks"].as_array().expect("a list");
        let moments: Vec<_> =
            marks.iter().filter(|m| m["kind"] == "point").map(|m| m["name"].as_str()).collect();
        assert_eq!(moments, [Some("begun"), Some("wrapped_marks")], "{recorder}: {marks:?}");
    }
    // Where nothing is recorded, nothing comes of them.
    let folder = run::private_folder();
    let outcome = run::finish(&mut run::command(&program, folder.path()), folder.path(), "alone");
    assert_eq!((outcome.code(), outcome.text().as_str()), (0, "done\n"));
}
