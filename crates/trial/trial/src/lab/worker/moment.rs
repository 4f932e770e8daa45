//! How a worker was at a moment of its run.

use super::memory::Memory;
use serde::{Deserialize, Serialize};

/// A moment of a run, and what was measured then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Its name, such as `dropped`.
    pub name: String,
    /// Time since the run began.
    pub wall_ns: u64,
    /// Processor time of all threads since then, where the system reports it precisely enough.
    pub cpu_ns: Option<u64>,
    /// Where the system reports it.
    pub memory: Option<Memory>,
    /// What the allocator says about itself, if it does.
    pub own: Option<Own>,
}

/// Bytes as an allocator counts them; each is missing where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// In blocks that the program has.
    pub allocated_bytes: Option<u64>,
    /// In pages that have such blocks.
    pub active_bytes: Option<u64>,
    /// Of the allocator's own.
    pub metadata_bytes: Option<u64>,
    /// In pages that are in memory.
    pub resident_bytes: Option<u64>,
}

impl Own {
    /// Asks the allocator of this process.
    #[cfg(target_os = "linux")]
    pub(super) fn now() -> Option<Self> {
        let own = heapwise_allocators::own_statistics()?;
        Some(Self {
            allocated_bytes: own.allocated_bytes,
            active_bytes: own.active_bytes,
            metadata_bytes: own.metadata_bytes,
            resident_bytes: own.resident_bytes,
        })
    }

    /// Asks the allocator of this process.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn now() -> Option<Self> {
        None
    }
}
