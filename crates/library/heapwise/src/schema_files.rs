//! The files in docs/schema for what the library writes are those of the structures that there are.

#[path = "../../../../docs/schema/check.rs"]
mod written;

use crate::{bench, operations};
use written::check;

#[test]
fn the_files_are_those_of_the_structures() {
    check::<bench::Document<'static>>(bench::SCHEMA);
    check::<operations::Document<'static>>(operations::SCHEMA);
}
