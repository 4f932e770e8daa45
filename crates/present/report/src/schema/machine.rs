//! The machine that something was measured on: the field `machine` of all schemas that have one.

use heapwise_environment::MachineDescription;
use serde::{Deserialize, Serialize};

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Machine {
    /// Processors that heapwise may use.
    pub cores: usize,
    /// The version of glibc, as `2.36`.
    pub glibc: String,
    /// The kernel's name and version.
    pub kernel: String,
    /// Processes that wanted to run, on average over the last minute before.
    pub load: f64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The model of its processor.
    pub processor: String,
    /// When memory comes in huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: String,
}

impl From<&MachineDescription> for Machine {
    fn from(machine: &MachineDescription) -> Self {
        Self {
            cores: machine.cores,
            glibc: machine.glibc.clone(),
            kernel: machine.kernel.clone(),
            load: machine.load,
            memory_bytes: machine.memory_bytes,
            processor: machine.processor.clone(),
            transparent_huge_pages: machine.transparent_huge_pages.clone(),
        }
    }
}
