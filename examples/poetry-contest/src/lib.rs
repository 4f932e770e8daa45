//! One small program in eight versions, each of which allocates less than the one before it.
//!
//! A heap profiler needs a program to be shown on whose right answers are known beforehand. This is that
//! program: the poetry contest, a puzzle about scoring JSON files, written first in a plain way and then
//! improved step by step, where every step takes away one kind of allocation. Whoever records the first
//! version should be led to the line that the second version changes, and so on.
//!
//! # The puzzle
//!
//! A contest has rounds, and every round has entries: an author, a title, and the contents of a poem. The
//! contest also has categories, each of which is a list of keywords. The answer is the number of points that
//! all authors win in all rounds together, under these rules:
//!
//! - The weight of an entry is the length of its contents in bytes divided by its number of words.
//! - An entry without words, or with more than 1000 bytes of contents, is disqualified.
//! - An entry takes part in a category when a word of its title is one of the keywords of the category.
//! - Each category of each round gives a point to the author of its heaviest entry; when several authors tie,
//!   each of them gets a point, though never more than one per category and round.
//!
//! # The versions
//!
//! Each version is one file with its own copy of the types and of the logic. The repetition is on purpose: a
//! profile that names `v03_borrow_document.rs:87` then names the version as well, and two files can be
//! compared side by side to see all of what a step changed.

#![forbid(unsafe_code)]

use std::path::Path;

pub mod dataset;
pub mod generate;
pub mod generate_command;
pub mod v01_simple;
pub mod v02_less_cloning;
pub mod v03_borrow_document;
pub mod v04_borrow_more;
pub mod v05_reserve_and_reuse;
pub mod v06_raw_contents;
pub mod v07_reuse_more;
pub mod v08_faster_maps;

/// A version of the program: from the directory with the data to the answer.
pub type Solve = fn(&Path) -> u64;

/// Every version with the short name that the command line uses for it, in the order of the steps.
pub const VERSIONS: [(&str, Solve); 8] = [
    ("v01", v01_simple::solve),
    ("v02", v02_less_cloning::solve),
    ("v03", v03_borrow_document::solve),
    ("v04", v04_borrow_more::solve),
    ("v05", v05_reserve_and_reuse::solve),
    ("v06", v06_raw_contents::solve),
    ("v07", v07_reuse_more::solve),
    ("v08", v08_faster_maps::solve),
];
