//! Where the recorder needs no help to find out where the wrapper was called from, or there is none.

#![expect(unsafe_code, reason = "the interface of allocators is unsafe")]

use std::alloc::{GlobalAlloc, Layout};

/// Where the wrapper was called from, which is found here without its help.
pub(crate) struct Caller;

impl Caller {
    pub(crate) fn new(_stack_pointer: usize, _frame_pointer: usize) -> Self {
        Self
    }
}

/// The inner allocator's `alloc`.
///
/// # Safety
/// As [`GlobalAlloc::alloc`].
#[inline(always)]
pub(crate) unsafe fn alloc_below<A: GlobalAlloc>(inner: &A, layout: Layout) -> *mut u8 {
    // SAFETY: the caller's call.
    unsafe { inner.alloc(layout) }
}

/// The inner allocator's `dealloc`.
///
/// # Safety
/// As [`GlobalAlloc::dealloc`].
#[inline(always)]
pub(crate) unsafe fn dealloc_below<A: GlobalAlloc>(inner: &A, block: *mut u8, layout: Layout) {
    // SAFETY: the caller's call.
    unsafe { inner.dealloc(block, layout) }
}

/// A function `$name` of a type, with a reference to it as the last argument, that calls `$then`, which takes two arguments more.
macro_rules! with_caller {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? => $then:ident) => {
        $(#[$doc])*
        unsafe extern "C" fn $name($($arg: $type,)* this: &Self) $(-> $result)? {
            // SAFETY: the caller's call.
            unsafe { Self::$then($($arg,)* this, 0, 0) }
        }
    };
}
pub(crate) use with_caller;
