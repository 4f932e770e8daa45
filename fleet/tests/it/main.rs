//! Tests of the whole program: what a user types, and what comes of it.

mod compaction;
mod documented;
mod left_out;
mod made;
mod pages;
mod program;
mod questions;
mod stores;
mod workers;
