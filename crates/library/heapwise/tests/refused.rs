//! Requests that the inner allocator refuses are not counted, also those that a program lives with.

#![cfg(feature = "operations")]
#![expect(unsafe_code, reason = "the interface of allocators is unsafe")]

use heapwise::{Allocator, Counts, Session};
use std::alloc::{GlobalAlloc, Layout, System};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::system();

/// Hands out blocks of at most this many bytes.
struct Limited(usize);

// SAFETY: what it does not refuse it passes on to `System`; a refused `realloc` leaves the block as it is.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > self.0 {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's call; the block is `System`'s.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > self.0 {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's call; the block is `System`'s.
        unsafe { System.realloc(block, layout, size) }
    }
}

fn counts_of(work: impl FnOnce()) -> Counts {
    let session = Session::new();
    let operation = session.operation("work");
    {
        let _span = operation.measure_thread();
        work();
    }
    operation.total()
}

#[test]
fn what_an_allocator_with_a_limit_refuses_is_not_counted() {
    let limited = Allocator::new(Limited(1000));
    let (small, large) = (Layout::new::<[u8; 100]>(), Layout::new::<[u8; 2000]>());
    let counts = counts_of(|| {
        for _ in 0..10_000 {
            // SAFETY: layouts with a size; each block that was handed out is freed once, with its layout, and not used.
            unsafe {
                let block = limited.alloc(small);
                assert!(!block.is_null());
                assert!(limited.alloc(large).is_null());
                assert!(limited.alloc_zeroed(large).is_null());
                assert!(limited.realloc(block, small, 2000).is_null());
                limited.dealloc(block, small);
            }
        }
    });
    assert_eq!((counts.allocations, counts.reallocations, counts.deallocations), (10_000, 0, 10_000));
    assert_eq!((counts.allocated_bytes, counts.freed_bytes), (1_000_000, 1_000_000));
}

#[test]
fn more_than_there_can_be_is_not_counted() {
    let counts = counts_of(|| {
        for _ in 0..100 {
            let mut block: Vec<u8> = Vec::with_capacity(100);
            assert!(block.try_reserve_exact(isize::MAX as usize - 100).is_err());
            assert!(Vec::<u8>::new().try_reserve_exact(isize::MAX as usize).is_err());
        }
    });
    assert_eq!((counts.allocations, counts.reallocations, counts.deallocations), (100, 0, 100));
    assert_eq!(counts.net_bytes(), 0);
}
