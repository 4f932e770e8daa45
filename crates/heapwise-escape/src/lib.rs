//! Text from a program, made such that it stays text: on a terminal, and in Markdown.
//!
//! Names of functions, benchmarks and files are chosen by whoever wrote a program or opened a pull request. Everything that shows
//! one comes by here first.

#![forbid(unsafe_code)]

pub mod markdown;
pub mod terminal;
