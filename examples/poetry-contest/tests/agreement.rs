//! All versions give the same answer, and it is the right one.
//!
//! The steps are about allocations and nothing else, so generated contests of several seeds and sizes must
//! not tell the versions apart.

mod common;

use poetry_contest::generate::{Options, write_contest};

fn check(seed: u64, rounds: u64, entries: u64) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    write_contest(dir.path(), &Options { seed, rounds, entries }).unwrap();
    let answer = common::answer(dir.path());
    assert_eq!(answer, common::independent_answer(dir.path()), "seed {seed}, {rounds} x {entries}");
    answer
}

#[test]
fn on_several_seeds() {
    for seed in [0, 1, 2, 77, u64::MAX] {
        assert!(check(seed, 2, 700) > 500);
    }
}

#[test]
fn on_several_sizes() {
    let answers = [check(5, 1, 1), check(5, 1, 30), check(5, 3, 300), check(5, 1, 4000)];
    assert!(
        answers.iter().all(|answer| *answer <= 3 * 500 * 3),
        "more points than there can be: {answers:?}"
    );
}

#[test]
fn on_empty_contests() {
    assert_eq!(check(1, 0, 0), 0);
    assert_eq!(check(1, 2, 0), 0);
}
