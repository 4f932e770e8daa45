//! The allocators that a program can be run with, and whether each candidate is what its name says.

mod json;
mod text;

pub use json::{check_json, list_json};
pub use text::{catalogue, checks};
