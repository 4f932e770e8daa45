//! Another allocator inside of the program: what surrounds the system's heap does not reach it.

#![cfg(feature = "switch")]

use super::{Condition, Role, check_strongly, clean, is_checking};
use crate::allocator::ALLOCATOR_VARIABLE;
use crate::worker::Heap;
use std::process::Command;

pub(super) struct Mimalloc;

impl Condition for Mimalloc {
    fn name(&self) -> &'static str {
        "mimalloc"
    }

    fn about(&self) -> String {
        if cfg!(target_os = "linux") {
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
        check_strongly(command);
        command.env(ALLOCATOR_VARIABLE, "mimalloc");
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        heap.allocator == "mimalloc" && is_checking(heap)
    }
}
