//! What the real allocator maps for itself.
//!
//! Seen from outside, the books that an allocator keeps in mappings of their own look like anything else that a program
//! maps. So calls of `mmap` are looked at, and those that come from the allocator's code are noted. glibc's allocator does
//! not pass by here; what it maps is known by its shape.

use crate::process::PROCESS;
use crate::{real, sys};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heapwise_trace::live::layout::{MAX_ALLOCATOR_MAPPINGS, ProcessHeader};

/// Noted in the process's own memory first: an allocator maps before the process has joined, and a fork keeps them.
struct Noted {
    count: AtomicU32,
    /// Address, length, and where `mmap` was called.
    ranges: [[AtomicU64; 3]; MAX_ALLOCATOR_MAPPINGS],
}

static NOTED: Noted = Noted {
    count: AtomicU32::new(0),
    ranges: [const { [const { AtomicU64::new(0) }; 3] }; MAX_ALLOCATOR_MAPPINGS],
};

/// `mmap`, with the address that it returns to.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn mmap(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
    caller: usize,
) -> *mut c_void {
    // SAFETY: the caller's call.
    let mapped = unsafe { sys::mmap(at, len, protection, flags, file, offset) };
    match mapped {
        Ok(at) => {
            // Before it is known whose code the allocator is, everything is noted, and sorted out later.
            if !real::is_identified() || real::is_allocator_code(caller) {
                note(at as u64, len as u64, caller as u64);
            }
            at.cast()
        }
        Err(error) => {
            sys::set_errno(error);
            // MAP_FAILED.
            usize::MAX as *mut c_void
        }
    }
}

fn note(start: u64, len: u64, caller: u64) {
    let index = NOTED.count.fetch_add(1, Ordering::Relaxed) as usize;
    let Some([at, size, from]) = NOTED.ranges.get(index) else {
        // Allocators map their books early; what comes after so many mappings are heaps, which are known by their blocks.
        NOTED.count.store(MAX_ALLOCATOR_MAPPINGS as u32, Ordering::Relaxed);
        return;
    };
    at.store(start, Ordering::Relaxed);
    from.store(caller, Ordering::Relaxed);
    size.store(len, Ordering::Release);
    if let Some(header) = PROCESS.header() {
        publish_one(header, index);
    }
}

/// Tells the collector what was noted before the process joined.
pub fn publish(header: &ProcessHeader) {
    let count = (NOTED.count.load(Ordering::Relaxed) as usize).min(MAX_ALLOCATOR_MAPPINGS);
    (0..count).for_each(|index| publish_one(header, index));
}

fn publish_one(header: &ProcessHeader, index: usize) {
    let [start, len, caller] = &NOTED.ranges[index];
    if !real::is_allocator_code(caller.load(Ordering::Relaxed) as usize) {
        return;
    }
    let [to_start, to_len] = &header.allocator_mappings[index];
    let len = len.load(Ordering::Acquire);
    to_start.store(start.load(Ordering::Relaxed), Ordering::Relaxed);
    to_len.store(len, Ordering::Release);
}
