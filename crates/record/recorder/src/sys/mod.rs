//! The operating system, asked without libc: memory, files, waiting, processes.
//!
//! A port is a pair of files beside `linux.rs` and `maps.rs` with the same functions.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub mod maps;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(target_os = "linux")]
pub use start::{initial_stack, is_privileged, parent_id_in_proc, program_headers, thread_count};
