//! The debug heap of Windows: a debugger is the worker's parent.
//!
//! The debugger is `heapwise` with its command `launch --debugged`, which starts the worker and does nothing else.
//! Wine never turns the debug heap on by itself; there the debugger does it, and the condition reports that this is an emulation.

use super::{Condition, Role, clean};
use crate::lab::worker::{Heap, WorkerError};
use heapwise_environment::facts::windows::{FORCED_CHECKS, wine_version};
use std::path::Path;
use std::process::{Command, Output};

/// The variable that turns the debug heap off.
const OFF: (&str, &str) = (heapwise_environment::NO_DEBUG_HEAP, "1");

/// Runs a worker under a debugger that has the same environment.
pub(super) fn debugged(command: &mut Command, heapwise: &Path) -> Result<Output, WorkerError> {
    let mut debugger = Command::new(heapwise);
    debugger.args(["launch", "--debugged", "--"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => debugger.env(name, value),
            None => debugger.env_remove(name),
        };
    }
    crate::lab::worker::run(&mut debugger)
}

/// Whether the process heap of a worker is the debug heap.
pub(super) fn is_checking(heap: &Heap) -> bool {
    heap.force_flags.is_some_and(|flags| flags & FORCED_CHECKS != 0)
}

/// That it is not the real thing, where it is not.
pub(super) fn emulation() -> Option<String> {
    wine_version().map(|version| {
        format!(
            "this is Wine {version} and not Windows: its debug heap was turned on by us, as an EMULATION, and is another one \
             than Windows'; that it is slower can be seen here, how much slower cannot"
        )
    })
}

pub(super) struct DebugHeap;

impl Condition for DebugHeap {
    fn name(&self) -> &'static str {
        "debug-heap"
    }

    fn about(&self) -> String {
        "started by a debugger, as with F5".to_owned()
    }

    fn caveat(&self) -> Option<String> {
        emulation()
    }

    fn role(&self) -> Role {
        Role::Checking
    }

    fn prepare(&self, command: &mut Command) {
        clean(command);
    }

    fn run(&self, command: &mut Command, heapwise: &Path) -> Result<Output, WorkerError> {
        debugged(command, heapwise)
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        heap.allocator == "system" && is_checking(heap)
    }
}

pub(super) struct Fixed;

impl Condition for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn about(&self) -> String {
        "started by a debugger, with _NO_DEBUG_HEAP=1".to_owned()
    }

    fn role(&self) -> Role {
        Role::Fixed
    }

    fn prepare(&self, command: &mut Command) {
        clean(command);
        command.env(OFF.0, OFF.1);
    }

    fn run(&self, command: &mut Command, heapwise: &Path) -> Result<Output, WorkerError> {
        debugged(command, heapwise)
    }

    fn is_in_place(&self, heap: &Heap) -> bool {
        // A heap whose flags cannot be read could be any.
        heap.allocator == "system" && heap.force_flags.is_some() && !is_checking(heap)
    }
}
