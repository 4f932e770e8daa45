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

/// The limit is the whole process's, so it is another one, in which this test is alone.
#[cfg(target_os = "linux")]
#[test]
fn a_large_block_that_cannot_grow_by_little_is_not_counted() {
    const CHILD: &str = "HEAPWISE_TEST_REFUSED_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let test = std::env::current_exe().expect("it runs");
        let alone = ["--exact", "a_large_block_that_cannot_grow_by_little_is_not_counted", "--nocapture"];
        let output =
            std::process::Command::new(test).args(alone).env(CHILD, "1").output().expect("it runs again");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let large = Layout::from_size_align(1 << 30, 16).expect("a power of two");
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let mut is_refused = false;
    let counts = counts_of(|| {
        // SAFETY: a layout with a size; a block that is freed once, with its layout, unless it has moved, which fails the test. The limits
        // are those of C functions, which read and write what they are given.
        unsafe {
            let block = ALLOCATOR.alloc(large);
            assert!(!block.is_null());
            make_room();
            assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &raw mut before), 0);
            let none = libc::rlimit { rlim_cur: 1 << 20, ..before };
            assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const none), 0);
            is_refused = ALLOCATOR.realloc(block, large, large.size() + 8192).is_null();
            libc::setrlimit(libc::RLIMIT_AS, &raw const before);
            if is_refused {
                ALLOCATOR.dealloc(block, large);
            }
        }
    });
    assert!(is_refused);
    assert_eq!((counts.allocations, counts.reallocations, counts.deallocations), (2, 0, 2));
    assert_eq!(counts.net_bytes(), 0);
}
