//! Another allocator inside of the program: what surrounds the system's heap does not reach it.

use super::{Condition, Role, clean, strongest};
use crate::lab::variable::{ALLOCATOR_VARIABLE, MIMALLOC};
use crate::lab::worker::{Heap, WorkerError};
use std::path::Path;
use std::process::{Command, Output};

pub(super) struct Mimalloc;

impl Condition for Mimalloc {
    fn name(&self) -> &'static str {
        "mimalloc"
    }

    fn about(&self) -> String {
        if cfg!(any(target_os = "linux", windows)) {
            "the checking heap is there, and Rust's blocks come from mimalloc".to_owned()
        } else {
            "Rust's blocks come from mimalloc".to_owned()
        }
    }

    fn role(&self) -> Role {
        Role::Bypass
    }

    fn prepare(&self, command: &mut Command) {
        clean(command);
        strongest::prepare(command);
        command.env(ALLOCATOR_VARIABLE, MIMALLOC);
    }

    fn run(&self, command: &mut Command, heapwise: &Path) -> Result<Output, WorkerError> {
        strongest::run(command, heapwise)
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        heap.allocator == "mimalloc" && strongest::is_checking(heap)
    }
}
