//! The machine that something was measured on, for machines.

use heapwise_environment::MachineDescription;
use serde_json::{Value, json};

/// The field `machine` of all schemas that have one.
pub(crate) fn json(machine: &MachineDescription) -> Value {
    json!({
        "processor": machine.processor,
        "cores": machine.cores,
        "memory_bytes": machine.memory_bytes,
        "kernel": machine.kernel,
        "glibc": machine.glibc,
        "transparent_huge_pages": machine.transparent_huge_pages,
        "load": machine.load,
    })
}
