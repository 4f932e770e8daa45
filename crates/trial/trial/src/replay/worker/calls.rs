//! The calls of a script.

use crate::replay::script::record::{Operation, Record};
use std::ffi::c_void;

unsafe extern "C" {
    fn valloc(size: usize) -> *mut c_void;
    fn pvalloc(size: usize) -> *mut c_void;
}

/// Allocates a block. Null if there is no memory.
#[inline(always)]
pub(super) fn allocate(record: Record) -> *mut u8 {
    let size = record.size();
    if record.operation() == Operation::Malloc {
        // SAFETY: any size may be requested.
        return unsafe { libc::malloc(size) }.cast();
    }
    otherwise(record)
}

#[inline(never)]
fn otherwise(record: Record) -> *mut u8 {
    let size = record.size();
    let align = 1usize << record.align_log2();
    // SAFETY: any size may be requested, and the alignments are powers of two.
    let block = unsafe {
        match record.operation() {
            Operation::Calloc => libc::calloc(1, size),
            Operation::ReallocNull => libc::realloc(std::ptr::null_mut(), size),
            Operation::PosixMemalign => {
                let mut block = std::ptr::null_mut();
                match libc::posix_memalign(&raw mut block, align.max(size_of::<usize>()), size) {
                    0 => block,
                    _ => std::ptr::null_mut(),
                }
            }
            Operation::AlignedAlloc => libc::aligned_alloc(align, size),
            Operation::Memalign => libc::memalign(align, size),
            Operation::Valloc => valloc(size),
            Operation::Pvalloc => pvalloc(size),
            _ => libc::malloc(size),
        }
    };
    block.cast()
}

/// Frees a block.
///
/// # Safety
/// The block came from [`allocate`] or [`resize`] and is not used any more.
#[inline(always)]
pub(super) unsafe fn free(block: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { libc::free(block.cast()) }
}

/// Resizes a block. If there is no memory, returns null and leaves the block unchanged.
///
/// # Safety
/// As for [`free`].
#[inline(always)]
pub(super) unsafe fn resize(block: *mut u8, size: usize) -> *mut u8 {
    // Of a block that becomes empty, some allocators keep a small one and some none; none could not be resized again.
    // SAFETY: the caller's promise.
    unsafe { libc::realloc(block.cast(), size.max(1)) }.cast()
}
