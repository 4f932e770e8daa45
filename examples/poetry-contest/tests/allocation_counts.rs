//! Counts the allocations of every version and compares their proportions with the published ones.
//!
//! The contest was published as an article about finding allocations in Rust. What makes this copy useful is
//! that each step saves the same share of the allocations as the article says, so the shares are tested.

use poetry_contest::VERSIONS;
use poetry_contest::generate::{Options, write_contest};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::path::Path;
use std::sync::Mutex;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Held by a test for as long as it runs: the allocator counts for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// The allocations of each version in the article. It gives no number for version 8, where only the maps
/// change.
const ARTICLE: [u64; 8] = [10_697_388, 2_916_539, 1_683_593, 1_669_789, 635_174, 46_218, 45_720, 45_720];

/// How far a share may be from that of the article, in percentage points of the allocations of version 1.
const TOLERANCE: f64 = 4.0;

/// Small enough for a debug build, large enough that the manifest does not dominate.
const MODEST: Options = Options { seed: 1, rounds: 6, entries: 6000 };

struct Count {
    allocations: u64,
    bytes: u64,
}

/// A vector that grows in place counts like one that moves: which of the two happens is up to the allocator.
fn count(solve: fn(&Path) -> u64, data_dir: &Path) -> Count {
    let region = Region::new(ALLOCATOR);
    solve(data_dir);
    let change = region.change();
    Count {
        allocations: (change.allocations + change.reallocations) as u64,
        bytes: change.bytes_allocated as u64,
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole as f64
}

/// Counts every version, prints a table, and returns the counts.
fn measure(data_dir: &Path) -> Vec<Count> {
    let counts: Vec<Count> = VERSIONS.iter().map(|(_, solve)| count(*solve, data_dir)).collect();
    println!("version | allocations |     bytes | saved | article saved");
    for (((name, _), count), article) in VERSIONS.iter().zip(&counts).zip(ARTICLE) {
        println!(
            "{name}     | {:>11} | {:>6} MB | {:>4.1}% | {:>4.1}%",
            count.allocations,
            count.bytes / 1_000_000,
            100.0 - share(count.allocations, counts[0].allocations),
            100.0 - share(article, ARTICLE[0]),
        );
    }
    counts
}

#[test]
fn each_step_saves_what_the_article_says() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    write_contest(dir.path(), &MODEST).unwrap();
    let counts = measure(dir.path());

    for (index, (name, _)) in VERSIONS.iter().enumerate() {
        let ours = share(counts[index].allocations, counts[0].allocations);
        let theirs = share(ARTICLE[index], ARTICLE[0]);
        assert!(
            (ours - theirs).abs() <= TOLERANCE,
            "{name} has {ours:.1} % of v01, the article {theirs:.1} %"
        );
    }
    for pair in counts[..6].windows(2) {
        assert!(pair[1].allocations < pair[0].allocations);
    }
    assert!(counts[6].allocations <= counts[5].allocations);
    // The maps of v08 allocate as those of v07; the hash function may allocate once to seed itself.
    assert!(counts[7].allocations.abs_diff(counts[6].allocations) <= 2);
    // What v07 saves are the bytes of the rounds, of which only the largest remains.
    assert!(counts[6].bytes * 2 < counts[5].bytes);
}

/// The table for the documentation: `cargo test --release -p poetry-contest --test allocation_counts --
/// --ignored --nocapture`.
#[test]
#[ignore = "writes a quarter of a gigabyte and takes a while without optimizations"]
fn table_for_the_default_contest() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    write_contest(dir.path(), &Options::default()).unwrap();
    measure(dir.path());
}
