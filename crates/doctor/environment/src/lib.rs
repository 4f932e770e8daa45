//! Causes outside of a program's code that slow its heap.
//!
//! A debugger that silently turns on a checking heap, a variable that makes malloc fill and verify its blocks, a sanitizer that
//! was left on, memory that the system takes away: none of it is in the code, and all of it is in the measurements. [`facts`]
//! describes a process, or what a command would inherit; [`checks`] is the registry of problems that can be found there, each a
//! [`Finding`] with its evidence, its cost and its remedy.
//!
//! The crate is built into programs of other people through the `heapwise` library, so it needs little: the standard library
//! and the system's own functions.

#![deny(unsafe_code)]

mod available_memory;
pub mod checks;
pub mod facts;
mod finding;
pub mod harmless;
mod machine_description;
mod no_debug_heap;

pub use available_memory::available_memory;
pub use checks::{CHECKS, Check, examine};
pub use facts::{Facts, Subject};
pub use finding::{Finding, Severity};
pub use machine_description::MachineDescription;
pub use no_debug_heap::{LONGEST_VALUE, NO_DEBUG_HEAP, ntdll_integer, turns_debug_heap_off};

/// Whether a variable is one that some check reads.
pub fn is_heap_variable(name: &str) -> bool {
    CHECKS.iter().flat_map(|check| check.variables()).any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}
