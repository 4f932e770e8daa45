//! Writing to blocks as a program does: an allocator's memory is what is touched of it.

/// A store for each line of the cache up to here; programs that use small blocks use all of them.
const BY_LINE: usize = 16 << 10;
const LINE: usize = 64;
const PAGE: usize = 4096;

/// Writes to the bytes of a block from one offset to another.
///
/// # Safety
/// The block is at least `to` bytes long and no other thread uses it.
#[inline(always)]
pub(super) unsafe fn touch(block: *mut u8, from: usize, to: usize) {
    let mut at = from;
    while at < to {
        // SAFETY: within the block, by the caller's promise. Volatile, since it is never read.
        unsafe { block.add(at).write_volatile(1) };
        at += if at < BY_LINE { LINE } else { PAGE };
    }
    if to > from {
        // SAFETY: as above; the last byte may lie on another page or cache line.
        unsafe { block.add(to - 1).write_volatile(1) };
    }
}
