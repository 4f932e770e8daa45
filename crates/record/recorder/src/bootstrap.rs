//! Memory for the moments before the real allocator is known: `dlsym`, which looks it up, allocates itself.
//!
//! A small arena that is never reused. Its blocks may be freed (nothing happens) and resized (by copying).

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

const BYTES: usize = 64 << 10;
const ALIGN: usize = 16;

#[repr(C, align(16))]
struct Arena(UnsafeCell<[u8; BYTES]>);

// SAFETY: the atomic below hands out each byte once.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// A zeroed block, or null when the arena is used up. The size is kept in front of it.
pub fn allocate(size: usize, align: usize) -> *mut u8 {
    let align = align.max(ALIGN);
    let Some(needed) = size.checked_add(align + ALIGN) else { return core::ptr::null_mut() };
    let needed = needed.next_multiple_of(ALIGN);
    let start = USED.fetch_add(needed, Ordering::Relaxed);
    if start > BYTES || needed > BYTES - start {
        return core::ptr::null_mut();
    }
    let base = ARENA.0.get() as usize;
    let at = (base + start + ALIGN).next_multiple_of(align);
    // SAFETY: `at - ALIGN .. at + size` lies within the `needed` bytes that were taken for this block alone.
    unsafe { ((at - ALIGN) as *mut usize).write(size) };
    at as *mut u8
}

/// Whether a block came from here.
#[inline(always)]
pub fn owns(block: *mut u8) -> bool {
    (block as usize).wrapping_sub(ARENA.0.get() as usize) < BYTES
}

/// Requested size of one of these blocks.
///
/// # Safety
/// `block` came from [`allocate`].
pub unsafe fn size_of_block(block: *mut u8) -> usize {
    // SAFETY: `allocate` wrote the size there.
    unsafe { block.sub(ALIGN).cast::<usize>().read() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_apart_aligned_and_known() {
        let (a, b) = (allocate(10, 16), allocate(100, 256));
        assert!(owns(a) && owns(b));
        assert_eq!(b as usize % 256, 0);
        assert!(b as usize >= a as usize + 10);
        // SAFETY: both came from `allocate`.
        unsafe {
            assert_eq!(size_of_block(a), 10);
            assert_eq!(size_of_block(b), 100);
        }
        assert!(allocate(usize::MAX - 4, 16).is_null());
        assert!(allocate(BYTES, 16).is_null());
        assert!(!owns(core::ptr::null_mut()));
    }
}
