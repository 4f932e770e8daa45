//! The program on Windows, or under Wine: from a slow heap to its cause, its remedy and a clean run.
//!
//! `cargo xtask windows` builds this for Windows and runs it under Wine; on Windows it is `cargo test -p heapwise-cli`.

#![cfg(windows)]

mod debug_heap;
mod exit_codes;
mod lab;
mod recordings;
mod registry;
mod tool;
