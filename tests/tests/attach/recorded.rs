//! What a process does while it is attached to is recorded, and nothing else.

use super::process::{
    BEFORE_BYTES, IDLE, PICTURE, PROGRAM, SIGNALS, WORK_BLOCKS, code, detached, ended, kinds, left_behind,
    of_work, started,
};
use heapwise_tests::build::compile_text;
use heapwise_tests::recording::Recording;
use heapwise_tests::run::{self, PATIENCE};
use heapwise_tests::{programs, tool};
use std::time::Duration;

#[test]
fn time_in_the_kernel_is_that_since_it_was_attached_to() {
    let folder = run::private_folder();
    let program = compile_text("gcc", &["-O1"], &format!("{SIGNALS}{PICTURE}"), folder.path(), "picture");
    let mut running = run::start(&mut run::command(&program, folder.path()), folder.path(), "picture");
    running.wait_for("ready");
    let recording = Recording::new(folder.path());
    let attached = recording.attach(running.pid());
    running.signal(libc::SIGUSR1);
    running.wait_for("done 7");
    let recorded = detached(&recording, attached);
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    // Without that time nothing is said of new pages.
    let found = recorded.report().findings.iter().find(|finding| finding.id == "new-pages");
    let place = found.and_then(|finding| finding.evidence.first()).cloned().unwrap_or_default();
    assert!(place.starts_with("brighter"), "{:?}", recorded.report().findings);
    assert_eq!(ended(running).code(), 5);
}

#[test]
fn what_a_process_does_meanwhile_is_recorded_and_it_is_afterwards_as_before() {
    let folder = run::private_folder();
    for (at, (compiler, flags, allocator)) in kinds().into_iter().enumerate() {
        let program = compile_text(compiler, flags, PROGRAM, folder.path(), &format!("program{at}"));
        let mut running = started(&program, &[], folder.path());
        let before = code(running.pid());
        for round in 0..3 {
            let recording = Recording::new(folder.path()).verify(20);
            let attached = recording.attach(running.pid());
            running.signal(libc::SIGUSR1);
            running.wait_for(&format!("done {round} 7"));
            let recorded = detached(&recording, attached);
            let what = format!("{compiler} {flags:?}, round {round}: {}", recorded.outcome.stderr);
            assert_eq!(recorded.outcome.code(), 0, "{what}");
            let report = recorded.report();
            assert_eq!(of_work(&recorded), WORK_BLOCKS, "{what}");
            assert_eq!((report.processes.len(), report.totals.lost_events), (2, 0), "{what}");
            let (verified, failed) = (report.stacks.verified, report.stacks.verify_failed);
            assert!(verified > 500 && failed == 0, "{verified} stacks, of which {failed} differ: {what}");
            let mode = report.interception.mode.as_str();
            assert_eq!(mode, "attach", "{what}");
            assert!(report.interception.allocator.ends_with(allocator), "{:?} {what}", report.interception);
            assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
            let end = report.memory.at_end.as_ref().expect("pages were looked at");
            let least = BEFORE_BYTES - 300_000 * (round + 1);
            assert!(end.before_bytes > least, "{end:?} {what}");
            assert_eq!(end.sum(), end.rss_bytes, "{what}");
            assert_eq!(code(running.pid()), before, "its code is its own again: {what}");
            assert_eq!(left_behind(running.pid()), [""; 0], "{what}");
        }
        assert_eq!(ended(running).code(), 5, "{compiler} {flags:?}");
    }
}

#[test]
fn rust_programs_with_an_allocator_inside_count_what_is_recorded() {
    for allocator in ["jemalloc", "mimalloc", "snmalloc"] {
        for profile in ["dev", "release"] {
            let program = tool::victim_wrapped(&format!("inside_{allocator}"), profile);
            let folder = run::private_folder();
            let mut running = started(&program, &["wait"], folder.path());
            let recording = Recording::new(folder.path()).verify(20);
            let attached = recording.attach(running.pid());
            running.signal(libc::SIGUSR1);
            running.wait_for("expect ");
            let recorded = detached(&recording, attached);
            let outcome = ended(running);
            assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
            let what = format!("{allocator}, {profile}: {}", recorded.outcome.stderr);
            let counted = outcome.counted();
            assert!(counted[0] > 5_000 && counted[1] > 500, "{what}");
            assert_eq!(recorded.of_program(&program), counted, "recorded (left) and counted: {what}");
            let report = recorded.report();
            assert_eq!((report.totals.lost_events, report.stacks.verify_failed), (0, 0), "{what}");
            assert_eq!(report.interception.allocator, allocator, "{what}");
        }
    }
}

#[test]
fn a_look_that_was_asked_for_is_not_what_was_there_before() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], &format!("{SIGNALS}{IDLE}"), folder.path(), "idle");
    let mut running = started(&program, &[], folder.path());
    let recording = Recording::new(folder.path()).with(&["--snapshot-every", "100ms"]);
    let attached = recording.attach(running.pid());
    running.signal(libc::SIGUSR1);
    running.wait_for("waits");
    std::thread::sleep(Duration::from_secs(1));
    let recorded = detached(&recording, attached);
    let memory = &recorded.report().memory;
    assert!(memory.snapshots.len() >= 3, "{}", memory.snapshots.len());
    let last = memory.snapshots.last().expect("there are some");
    let end = memory.at_end.expect("pages were looked at");
    for look in [last, &end] {
        assert!(look.live_bytes >= 39_000_000 && look.before_bytes < 1 << 20, "{look:?}");
    }
    assert_eq!(ended(running).code(), 5);
}

#[test]
fn a_process_that_ends_meanwhile_is_recorded_to_its_end() {
    let folder = run::private_folder();
    let program = compile_text("cc", &[], PROGRAM, folder.path(), "program");
    let mut running = started(&program, &[], folder.path());
    let recording = Recording::new(folder.path());
    let attached = recording.attach(running.pid());
    running.signal(libc::SIGUSR1);
    running.wait_for("done 0 7");
    assert_eq!(ended(running).code(), 5);
    let recorded = recording.wait(attached);
    assert_eq!(
        (recorded.outcome.code(), of_work(&recorded)),
        (0, WORK_BLOCKS),
        "{}",
        recorded.outcome.stderr
    );
}

#[test]
fn a_process_in_other_namespaces_is_recorded() {
    if !programs::is_root() || programs::find("unshare").is_none() {
        eprintln!("SKIPPED: only root makes namespaces, with unshare");
        return;
    }
    let folder = run::private_folder();
    let program = compile_text("cc", &[], PROGRAM, folder.path(), "program");
    let mut command = run::command("unshare", folder.path());
    command
        .args(["--mount", "--net", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child"])
        .arg(&program);
    let mut around = run::start(&mut command, folder.path(), "program");
    around.wait_for("ready");
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", around.pid()));
    let pid: i32 = children.expect("it has a child").trim().parse().expect("one");
    let recording = Recording::new(folder.path()).verify(20);
    let attached = recording.attach(pid);
    run::signal_to(pid, libc::SIGUSR1);
    around.wait_for("done 0 7");
    let recorded = detached(&recording, attached);
    let report = recorded.report();
    let seen = (of_work(&recorded), report.totals.lost_events, report.stacks.verify_failed);
    assert_eq!(seen, (WORK_BLOCKS, 0, 0), "{}", recorded.outcome.stderr);
    assert_eq!(report.processes.iter().filter(|process| process.pid == pid as u32).count(), 1);
    run::signal_to(pid, libc::SIGTERM);
    assert_eq!(around.wait(PATIENCE).code(), 5);
}
