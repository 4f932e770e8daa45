//! Programs that have little, or have forbidden themselves something: they go on as without heapwise.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::oracle::{Oracle, Place, Sums};
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run};
use std::path::{Path, PathBuf};

fn victim(name: &str) -> PathBuf {
    let all = Victim::all_in("victims/odd");
    let victim = all.iter().find(|victim| victim.name == name).expect("there is such a victim");
    build(victim, FlagSet::Release)
}

/// The number at the beginning of what a program says.
fn first_number(said: &str) -> u64 {
    let digits = said.split(' ').next().unwrap_or_default();
    digits.parse().unwrap_or_else(|e| panic!("{said:?} does not begin with a number: {e}"))
}

/// Checks that a program which takes all of its address space gets at least 97 % of the blocks that it gets alone. The rest is
/// the recorder's code and tables, a ring, and the first part of the trie of stacks.
fn gets_nearly_all(program: &Path, arguments: &[&str]) {
    let folder = run::private_folder();
    let at = folder.path();
    let alone = run::finish(run::command(program, at).args(arguments), at, "alone");
    let recorded = Recording::new(at).record(program, arguments);
    assert_eq!((alone.code(), recorded.outcome.code()), (0, 0), "{}", recorded.outcome.stderr);
    let (natively, got) = (first_number(&alone.text()), first_number(&recorded.outcome.text()));
    assert!(got * 100 >= natively * 97, "{got} of {natively} blocks");
    let totals = &recorded.report().totals;
    assert!(totals.lost_events == 0 && totals.allocations >= got, "{totals:?}");
}

#[test]
fn a_limit_of_the_address_space_that_a_program_sets_itself_is_nearly_all_its_own() {
    gets_nearly_all(&victim("fills_address_space"), &["256"]);
}

#[test]
fn a_limit_of_the_address_space_that_a_program_is_started_with_is_nearly_all_its_own() {
    let Some(prlimit) = programs::find("prlimit") else { return };
    let victim = victim("fills_address_space");
    gets_nearly_all(&prlimit, &["--as=268435456", &victim.to_string_lossy(), "outer"]);
}

/// Runs threads in little address space, beside an independent count.
fn threads_in_little_space(arguments: &[&str]) -> (Recorded, Sums) {
    let folder = run::private_folder();
    let at = folder.path();
    let program = victim("threads_in_little_space");
    let alone = run::finish(run::command(&program, at).args(arguments), at, "alone");
    assert_eq!(alone.text(), "0 threads were refused, 0 were short of memory\n");
    let (oracle, recording) = (Oracle::new(at), Recording::new(at));
    let mut command = oracle.command(&recording, Place::Behind, &program, arguments);
    let recorded = recording.record_command(&mut command);
    assert_eq!(recorded.outcome.text(), alone.text(), "{}", recorded.outcome.stderr);
    (recorded, oracle.sums())
}

#[test]
fn threads_that_start_in_little_address_space_also_start_when_they_are_recorded() {
    let (recorded, counted) = threads_in_little_space(&["80", "256"]);
    assert_eq!(recorded.report().totals.lost_events, 0);
    assert_eq!(Sums::of(recorded.report(), 0), counted);
}

#[test]
fn threads_for_which_there_is_no_address_space_are_counted_as_lost() {
    let (recorded, counted) = threads_in_little_space(&["24", "16"]);
    let seen = Sums::of(recorded.report(), 0);
    let lost = recorded.report().totals.lost_events;
    assert!(lost > 0 && seen.allocations > 1000, "the recorder's share is for some of them: {seen:?}");
    assert_eq!(seen.allocations + seen.frees + lost, counted.allocations + counted.frees);
    assert!(recorded.report().warnings.iter().any(|warning| warning.id == "lost-events"), "it is said");
}

#[test]
fn a_program_without_a_clock_is_recorded_without_times() {
    let folder = run::private_folder();
    for arguments in [&[][..], &["syscall"]] {
        let recorded = Recording::new(folder.path()).verify(100).record(victim("clock_forbidden"), arguments);
        assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
        assert_eq!(recorded.outcome.text(), "the child ended with 0\n");
        let report = recorded.report();
        assert_eq!((report.totals.lost_events, report.stacks.verify_failed), (0, 0));
        assert_eq!(report.sum(|stack| stack.contains(&"without_clock")).blocks, 500_000);
        assert!(report.warnings.iter().any(|warning| warning.id == "no-clock"), "it is said");
    }
}

#[test]
fn a_program_in_strict_mode_makes_no_system_call_for_the_recorders_sake() {
    let folder = run::private_folder();
    for arguments in [["prctl", "3000000"], ["syscall", "500000"]] {
        let recorded = Recording::new(folder.path()).record(victim("strict_seccomp"), &arguments);
        assert_eq!(recorded.outcome.code(), 23, "{}", recorded.outcome.stderr);
        assert_eq!(recorded.outcome.text(), "went on in strict mode\n");
        let report = recorded.report();
        let blocks = report.sum(|stack| stack.contains(&"in_strict_mode")).blocks;
        // The collector may be late on a busy machine; then it is said.
        let (all, lost) = (first_number(arguments[1]) + 4096 + 20, report.totals.lost_events);
        assert!(blocks <= all && blocks + lost >= all, "{blocks} and {lost} of {all}");
    }
}
