//! The allocators that a program can be tried with, and whether candidates are what they are called.

mod json;
mod text;

pub use json::{check_json, list_json};
pub use text::{catalogue, checks};
