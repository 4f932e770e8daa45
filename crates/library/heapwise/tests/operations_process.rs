//! Spans of the whole process, against a second counter below: `stats_alloc` sees each call that heapwise passes on.
//!
//! One test only, or others would be measured along with it.

#![cfg(feature = "operations")]

mod process;

use process::Seen;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<&StatsAlloc<System>> = heapwise::Allocator::new(&INSTRUMENTED_SYSTEM);

#[test]
fn a_process_is_all_its_threads() {
    process::agrees_with(|| {
        let stats = INSTRUMENTED_SYSTEM.stats();
        Seen {
            allocations: stats.allocations as u64,
            reallocations: stats.reallocations as u64,
            deallocations: stats.deallocations as u64,
            net_bytes: stats.bytes_allocated as i64 - stats.bytes_deallocated as i64,
        }
    });
}
