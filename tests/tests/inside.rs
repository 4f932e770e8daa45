//! Allocators inside of programs and libraries are recorded, although nothing can be put in front of them by name.
//!
//! What the programs did they say themselves: what is on top of their allocator has counted it.

use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::{run, tool};
use std::path::Path;

/// Allocations, reallocations and bytes that a program and its child have counted.
fn counted(text: &str) -> [u64; 3] {
    let lines = text.lines().filter_map(|line| line.strip_prefix("expect "));
    let numbers = lines.map(|line| {
        let mut words = line.split(' ').map(|word| word.parse().expect("a number"));
        std::array::from_fn(|_| words.next().expect("three numbers"))
    });
    numbers
        .reduce(|a: [u64; 3], b| std::array::from_fn(|i| a[i] + b[i]))
        .expect("the program says what it did")
}

/// What the code of the program itself has allocated, and not the C library beside it.
fn of_program(recorded: &Recorded, program: &Path) -> [u64; 3] {
    let report = recorded.report();
    let is_own = |module: &str| Path::new(module) == program;
    let sites = report.sites.iter().filter(|site| {
        let innermost = report.stack(site).next();
        // Rust's own threads have a block each from the system's allocator, whatever the global one is.
        let is_of_system = |name: &str| name.contains("alloc::System>");
        let mut functions = report.stack(site).filter_map(|frame| frame.function.as_deref());
        innermost.is_some_and(|frame| frame.module.as_deref().is_some_and(is_own))
            && !functions.any(is_of_system)
    });
    sites.fold([0; 3], |[allocations, reallocations, bytes], site| {
        [allocations + site.allocations, reallocations + site.reallocations, bytes + site.allocated_bytes]
    })
}

#[test]
fn a_global_allocator_in_c_is_recorded_without_a_wrapper() {
    for allocator in ["jemalloc", "mimalloc", "snmalloc"] {
        for profile in ["dev", "release"] {
            let program = tool::victim_wrapped(&format!("inside_{allocator}"), profile);
            let folder = run::private_folder();
            let recorded = Recording::new(folder.path()).verify(20).record(&program, &[]);
            assert_eq!(recorded.outcome.code(), 0, "{}", recorded.outcome.stderr);
            let counted = counted(&recorded.outcome.text());
            assert_eq!(
                of_program(&recorded, &program),
                counted,
                "{allocator}, {profile}: recorded (left) and counted"
            );
            assert!(counted[0] > 10_000 && counted[1] > 1_000, "it has done its work twice");
            let report = recorded.report();
            assert_eq!(report.totals.lost_events, 0);
            assert_eq!(
                (report.order.unknown_frees, report.order.implicit_frees),
                (0, 0),
                "{allocator}, {profile}"
            );
            assert_eq!(report.interception.allocator, allocator);
            assert!(report.interception.blind_spots.is_empty(), "{:?}", report.interception.blind_spots);
            let stacks = &report.stacks;
            assert!(
                stacks.verified > 1_000 && stacks.verify_failed == 0,
                "{allocator}, {profile}: {stacks:?}"
            );
            assert_eq!(report.processes.len(), 2, "it has started itself once more");
        }
    }
}
