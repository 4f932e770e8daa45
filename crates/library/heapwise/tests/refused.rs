//! Requests that the inner allocator refuses are not counted, also those that a program lives with.

#![cfg(feature = "operations")]
#![expect(unsafe_code, reason = "the interface of allocators is unsafe")]

use heapwise::{Allocator, Counts, Session};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;

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

/// Frees more than a thread's level has to rise by again before there is more to do than to count: requests are counted before they are passed on,
/// where they may be.
fn make_room() {
    drop(black_box(Vec::<u8>::with_capacity(ROOM as usize)));
}

const ROOM: u64 = 20_000;

#[test]
fn what_an_allocator_with_a_limit_refuses_is_not_counted() {
    let limited = Allocator::new(Limited(1000));
    let (small, large) = (Layout::new::<[u8; 100]>(), Layout::new::<[u8; 2000]>());
    let counts = counts_of(|| {
        make_room();
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
    assert_eq!((counts.allocations, counts.reallocations, counts.deallocations), (10_001, 0, 10_001));
    assert_eq!((counts.allocated_bytes, counts.freed_bytes), (1_000_000 + ROOM, 1_000_000 + ROOM));
}

#[test]
fn an_alignment_that_is_not_to_be_had_is_not_counted() {
    let layout = Layout::from_size_align(64, 1 << 46).expect("a power of two");
    let counts = counts_of(|| {
        make_room();
        for _ in 0..100 {
            // SAFETY: a layout with a size.
            assert!(unsafe { ALLOCATOR.alloc(layout) }.is_null());
        }
    });
    assert_eq!((counts.allocations, counts.allocated_bytes), (1, ROOM));
}

#[test]
fn more_than_there_can_be_is_not_counted() {
    let counts = counts_of(|| {
        make_room();
        for _ in 0..100 {
            let mut block: Vec<u8> = Vec::with_capacity(100);
            assert!(block.try_reserve_exact(isize::MAX as usize - 100).is_err());
            assert!(Vec::<u8>::new().try_reserve_exact(isize::MAX as usize).is_err());
        }
    });
    assert_eq!((counts.allocations, counts.reallocations, counts.deallocations), (101, 0, 101));
    assert_eq!(counts.net_bytes(), 0);
}

/// In a child, since nothing in the process can have more memory meanwhile.
#[cfg(target_os = "linux")]
#[test]
fn a_large_block_that_cannot_grow_by_little_is_not_counted() {
    let large = Layout::from_size_align(1 << 30, 16).expect("a power of two");
    let counts = |block: &mut *mut u8| {
        counts_of(|| {
            // SAFETY: a layout with a size; a block that is freed once with its layout. The limit is a C function's.
            unsafe {
                *block = ALLOCATOR.alloc(large);
                make_room();
                let none = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
                libc::setrlimit(libc::RLIMIT_AS, &raw const none);
                let moved = ALLOCATOR.realloc(*block, large, large.size() + 8192);
                ALLOCATOR.dealloc(*block, large);
                if !moved.is_null() {
                    *block = std::ptr::null_mut();
                }
            }
        })
    };
    // SAFETY: the child only allocates, which the C library allows after a fork, and ends without what else is done at the end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut block = std::ptr::null_mut();
        let counts = counts(&mut block);
        let calls = (counts.allocations, counts.reallocations, counts.deallocations);
        let is_right = !block.is_null() && calls == (2, 0, 2) && counts.net_bytes() == 0;
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!is_right)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child, and writes to `status`.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}
