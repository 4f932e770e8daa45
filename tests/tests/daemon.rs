//! A program that becomes a daemon, closes all its descriptors and outlives the one that was started is recorded to its
//! own end where that is wanted, and left alone where it is not.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::recording::Recording;
use heapwise_tests::run;
use heapwise_tests::victim::Victim;

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
