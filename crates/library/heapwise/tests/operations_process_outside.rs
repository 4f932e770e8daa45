//! Spans of the whole process, against a second counter above: it sees each call before heapwise does, which counts most of them
//! before it passes them on to the system's allocator.
//!
//! One test only, or others would be measured along with it.

#![cfg(feature = "operations")]
#![expect(unsafe_code, reason = "the interface of allocators is unsafe")]

mod process;

use process::Seen;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: Outside = Outside(heapwise::Allocator::system());

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static REALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static DEALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static NET_BYTES: AtomicI64 = AtomicI64::new(0);

struct Outside(heapwise::Allocator);

fn count(calls: &AtomicU64, bytes: i64) {
    calls.fetch_add(1, Ordering::Relaxed);
    NET_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

// SAFETY: each call is passed on as it is.
unsafe impl GlobalAlloc for Outside {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(&ALLOCATIONS, layout.size() as i64);
        // SAFETY: the caller's call.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(&ALLOCATIONS, layout.size() as i64);
        // SAFETY: the caller's call.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(&DEALLOCATIONS, -(layout.size() as i64));
        // SAFETY: the caller's call.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(&REALLOCATIONS, size as i64 - layout.size() as i64);
        // SAFETY: the caller's call.
        unsafe { self.0.realloc(block, layout, size) }
    }
}

#[test]
fn a_process_is_all_its_threads() {
    process::agrees_with(|| Seen {
        allocations: ALLOCATIONS.load(Ordering::Relaxed),
        reallocations: REALLOCATIONS.load(Ordering::Relaxed),
        deallocations: DEALLOCATIONS.load(Ordering::Relaxed),
        net_bytes: NET_BYTES.load(Ordering::Relaxed),
    });
}
