//! The program with nothing set that concerns the heap.

use super::{Condition, Role, clean};
use crate::lab::worker::Heap;
use heapwise_environment::facts::windows::FORCED_CHECKS;
use std::process::Command;

pub(super) struct Plain;

impl Condition for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn about(&self) -> String {
        "nothing that concerns the heap is set".to_owned()
    }

    fn role(&self) -> Role {
        Role::Plain
    }

    fn prepare(&self, command: &mut Command) {
        clean(command);
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        is_usual(heap)
    }
}

/// Whether a heap is the system's, and does nothing but what it is for.
pub(super) fn is_usual(heap: &Heap) -> bool {
    let fills = heap.fresh_fill.is_some() || heap.freed_fill.is_some();
    let checks = heap.usable_of_193 == 193;
    let is_forced = heap.force_flags.is_some_and(|flags| flags & FORCED_CHECKS != 0);
    heap.allocator == "system" && !is_forced && !fills && !checks && heap.libraries.is_empty()
}
