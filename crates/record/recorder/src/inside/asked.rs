//! What a process has of the functions that it is to enter through the recorder.

use core::sync::atomic::{AtomicPtr, AtomicU32};
use heapwise_trace::live::hooks::SharedHook;

/// What a process has of its hooks. All zeroes in a forked child, which asks anew for what it loads.
#[derive(Debug)]
#[repr(C)]
pub struct Asked {
    pub(super) table: AtomicPtr<SharedHook>,
    /// Hooks of the table that were applied or given up.
    pub(super) seen: AtomicU32,
    /// Non-zero once there was no answer in time: no further one is waited for.
    pub(super) gave_up: AtomicU32,
}

impl Asked {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            table: AtomicPtr::new(core::ptr::null_mut()),
            seen: AtomicU32::new(0),
            gave_up: AtomicU32::new(0),
        }
    }
}

impl Default for Asked {
    fn default() -> Self {
        Self::new()
    }
}
