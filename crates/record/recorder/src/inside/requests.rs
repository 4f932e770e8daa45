//! What is requested of an allocator inside of the program: from the arguments of its functions.

use crate::arch::entry::Entry;
use crate::arch::tls::Words;
use crate::describe::{handed_out_by, in_inside, resized, resizing};
use heapwise_trace::event::{AllocFunction, AllocatorNumber};
use heapwise_trace::live::hooks::HookKind;

/// What every block is aligned to: an alignment up to this need not be requested.
const MIN_ALIGN: usize = 16;
/// `mallocx`: the binary logarithm of the alignment, and whether the block is to be zeroed.
const MALLOCX_ALIGN: usize = 0x3f;
const MALLOCX_ZERO: usize = 0x40;

/// What was requested.
pub(super) struct Request {
    pub(super) size: usize,
    pub(super) align: usize,
    pub(super) is_zeroed: bool,
}

impl Request {
    #[inline(always)]
    pub(super) fn of(kind: u8, [a, b, _]: [usize; 3]) -> Self {
        const ARRAY: u8 = HookKind::AllocateArray as u8;
        const ZEROED: u8 = HookKind::AllocateZeroed as u8;
        const ARRAY_ZEROED: u8 = HookKind::AllocateArrayZeroed as u8;
        const ALIGNED: u8 = HookKind::AllocateAligned as u8;
        const ALIGN_FIRST: u8 = HookKind::AlignedAllocate as u8;
        const ALIGNED_ZEROED: u8 = HookKind::AllocateAlignedZeroed as u8;
        const ALIGN_FIRST_ZEROED: u8 = HookKind::AlignedAllocateZeroed as u8;
        const MALLOCX: u8 = HookKind::Mallocx as u8;
        let (size, align, is_zeroed) = match kind {
            ARRAY => (a.saturating_mul(b), 0, false),
            ZEROED => (a, 0, true),
            ARRAY_ZEROED => (a.saturating_mul(b), 0, true),
            ALIGNED => (a, b, false),
            ALIGN_FIRST => (b, a, false),
            ALIGNED_ZEROED => (a, b, true),
            ALIGN_FIRST_ZEROED => (b, a, true),
            MALLOCX => (a, align_of_flags(b), b & MALLOCX_ZERO != 0),
            _ => (a, 0, false),
        };
        Self { size, align, is_zeroed }
    }

    /// The function of the C library that would do it, and the alignment that has to be requested.
    #[inline(always)]
    pub(super) fn function(&self) -> (AllocFunction, usize) {
        match (self.align > MIN_ALIGN, self.is_zeroed) {
            (true, _) => (AllocFunction::AlignedAlloc, self.align),
            (false, true) => (AllocFunction::Calloc, 0),
            (false, false) => (AllocFunction::Malloc, 0),
        }
    }
}

#[inline(always)]
fn align_of_flags(flags: usize) -> usize {
    1 << (flags & MALLOCX_ALIGN)
}

/// Whether a function of this kind gives a block another size, and may move it.
pub(super) fn is_resize(kind: u8) -> bool {
    use HookKind::{Rallocx, Resize, ResizeAligned, ResizeArray, ResizeFrom, RpalignedRealloc};
    [Resize, ResizeArray, ResizeAligned, Rallocx, ResizeFrom, RpalignedRealloc]
        .iter()
        .any(|resize| *resize as u8 == kind)
}

/// The size that it gives the block, from the arguments behind that.
#[inline(always)]
pub(super) fn new_size(kind: u8, [a, b, c]: [usize; 3]) -> usize {
    const ARRAY: u8 = HookKind::ResizeArray as u8;
    const FROM: u8 = HookKind::ResizeFrom as u8;
    const RPALIGNED: u8 = HookKind::RpalignedRealloc as u8;
    match kind {
        ARRAY => a.saturating_mul(b),
        FROM => c,
        RPALIGNED => b,
        _ => a,
    }
}

/// Resizes a block, or allocates one where there is none, and describes it.
#[inline(always)]
pub(super) fn describe_resize(
    allocator: AllocatorNumber,
    words: Words,
    block: usize,
    size: usize,
    entry: Entry,
    real: impl FnOnce() -> usize,
) -> usize {
    if block == 0 {
        let new = in_inside(words, entry, real);
        handed_out_by(allocator, words, new as *mut u8, (size, 0), AllocFunction::Realloc, entry);
        return new;
    }
    let before = resizing(words, block as *mut u8, entry);
    let new = in_inside(words, entry, real);
    resized(allocator, words, (block as *mut u8, new as *mut u8), size, before, entry);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_size_is_where_the_kind_of_function_has_it() {
        let of = |kind: HookKind| (is_resize(kind as u8), new_size(kind as u8, [10, 20, 30]));
        assert_eq!(of(HookKind::Resize), (true, 10));
        assert_eq!(of(HookKind::ResizeAligned), (true, 10));
        assert_eq!(of(HookKind::Rallocx), (true, 10));
        assert_eq!(of(HookKind::ResizeArray), (true, 200));
        assert_eq!(of(HookKind::RpalignedRealloc), (true, 20));
        assert_eq!(of(HookKind::ResizeFrom), (true, 30));
        assert!(!is_resize(HookKind::Allocate as u8) && !is_resize(HookKind::Duplicate as u8));
    }
}
