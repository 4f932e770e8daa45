//! The files in docs/schema are made of the structures, and are those of the structures that there are.

#[path = "../../../../../docs/schema/check.rs"]
mod written;

use super::{allocators, annotate, bench_diff, compare, diff, doctor, lab, replay, report, tune};
use written::check;

#[test]
fn the_files_are_those_of_the_structures() {
    check::<allocators::Allocators>(allocators::SCHEMA);
    check::<annotate::Annotated>(annotate::SCHEMA);
    check::<bench_diff::BenchDiff>(bench_diff::SCHEMA);
    check::<compare::Comparison>(compare::SCHEMA);
    check::<diff::Diff<'static>>(diff::SCHEMA);
    check::<doctor::Checkup>(doctor::SCHEMA);
    check::<lab::Lab>(lab::SCHEMA);
    check::<replay::Replay>(replay::SCHEMA);
    check::<report::Report>(report::SCHEMA);
    check::<tune::Tuned>(tune::SCHEMA);
}
