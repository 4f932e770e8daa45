//! A program that becomes a daemon, closes all its descriptors and outlives the one that was started is recorded to its
//! own end where that is wanted, and left alone where it is not.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::Recording;
use heapwise_tests::victim::Victim;
use heapwise_tests::{expect, facts::Facts, programs, run};
use std::time::Duration;

#[test]
fn a_daemon_that_nobody_waits_for_is_recorded_to_its_end_with_wait() {
    let program = build(&Victim::named("daemon_closes_descriptors"), FlagSet::Release);
    let folder = run::private_folder();
    let recorded = Recording::new(folder.path()).with(&["--wait"]).verify(1).record(program, &["leave"]);
    let report = recorded.report();
    assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
    assert_eq!(report.processes.len(), 2);
    assert_eq!(report.sum(|stack| stack.contains(&"in_daemon")).blocks, 2000);
    assert_eq!((report.totals.lost_events, report.stacks.verify_failed), (0, 0));
    assert!(!report.mentions("still-running"), "{:?}", report.warnings);
}

#[test]
fn without_wait_it_is_said_that_something_still_runs() {
    let folder = run::private_folder();
    // A shell that leaves a child behind, which has joined the recording before.
    let script = "(echo begun; exec python3 -S -c 'import time; time.sleep(2)') & sleep 0.7; echo left";
    let recorded = Recording::new(folder.path()).record("sh", &["-c", script]);
    assert_eq!(recorded.outcome.text(), "begun\nleft\n");
    assert!(recorded.report().mentions("still-running"), "{:?}", recorded.report().warnings);
    assert!(recorded.outcome.stderr.contains("--wait"), "{}", recorded.outcome.stderr);
}

/// A program that leaves something behind which goes on for longer than the test, unless that is ended.
const LEAVES: &str = "sleep 120 & sleep 0.2; echo left; exit 4";

#[test]
fn a_signal_ends_the_waiting_for_what_the_program_has_left_behind() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let folder = run::private_folder();
        let recording = Recording::new(folder.path()).with(&["--wait"]);
        let mut running = recording.start("sh", &["-c", LEAVES]);
        let group = running.pid();
        running.wait_for("left");
        // The shell ends a moment after it said so.
        std::thread::sleep(Duration::from_millis(300));
        running.signal(signal);
        let outcome = running.wait(Duration::from_secs(60));
        // SAFETY: integer arguments; what was left behind is still in the group, so no other group has the number.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        assert_eq!(outcome.code(), 4, "the program's own code: {}", outcome.stderr);
        assert!(outcome.stderr.contains("still run unrecorded"), "{}", outcome.stderr);
    }
}

#[test]
fn the_third_request_to_end_is_for_heapwise_if_it_waits() {
    let folder = run::private_folder();
    let recording = Recording::new(folder.path()).with(&["--wait"]);
    let mut running = recording.start("sh", &["-c", "trap '' TERM; echo deaf; sleep 120; echo heard"]);
    let group = running.pid();
    running.wait_for("deaf");
    for _ in 0..3 {
        running.signal(libc::SIGTERM);
        std::thread::sleep(Duration::from_millis(100));
    }
    let outcome = running.wait(Duration::from_secs(60));
    // SAFETY: as above.
    unsafe { libc::kill(-group, libc::SIGKILL) };
    assert_eq!(outcome.code(), 130, "{}", outcome.stderr);
}

#[test]
fn processes_of_another_pid_namespace_are_waited_for_to_their_end_and_no_longer() {
    if !programs::is_root() {
        eprintln!("SKIPPED: only root can make a pid namespace");
        return;
    }
    let Some(unshare) = programs::find("unshare") else { return };
    let folder = run::private_folder();
    let record = |options: &[&str], program: &str, arguments: &[&str]| {
        let began = std::time::Instant::now();
        let arguments = [&["-f", "-p", program], arguments].concat();
        let recorded = Recording::new(folder.path()).with(options).record(&unshare, &arguments);
        assert!(began.elapsed() < Duration::from_secs(60), "it hangs");
        let report = recorded.report();
        assert!(!report.mentions("still-running"), "{:?}", report.warnings);
        assert!(!recorded.outcome.stderr.contains("still run"), "{}", recorded.outcome.stderr);
        // As seen from outside, where the first process of the namespace is not the first one.
        assert!(report.processes.iter().all(|process| process.pid > 1), "{:?}", report.processes);
        recorded
    };
    // Rings are used again by new threads, if and only if their threads are known to be gone.
    let program = build(&Victim::named("threads_short_lived"), FlagSet::Release);
    let recorded = record(&[], &program.to_string_lossy(), &[]);
    let expectations = expect::parse(&recorded.outcome.text());
    let unmet = expect::unmet(&expectations, recorded.report(), &Facts::of("threads_short_lived"));
    assert!(!expectations.is_empty() && unmet.is_empty(), "{unmet:?}");
    assert_eq!(recorded.report().totals.lost_events, 0);

    let script = "$| = 1; my $kept = 'x' x 50_000_000; select undef, undef, undef, 0.3; exit 6";
    let recorded = record(&["--wait"], "perl", &["-e", script]);
    assert_eq!(recorded.outcome.code(), 6, "{}", recorded.outcome.stderr);
    let peak = recorded.report().memory.peak_rss_bytes.expect("it was measured");
    assert!((50_000_000..500_000_000).contains(&peak), "{peak} bytes were resident");
}
