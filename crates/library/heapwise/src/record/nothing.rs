//! Where nothing can be recorded through the wrapper.

use super::{Function, Mark};
use std::alloc::Layout;

/// Whether the first call of a process has to find out whether it is recorded.
pub(crate) const POSSIBLE: bool = false;

/// Whether a recording is a sample.
#[cfg(feature = "serve")]
pub(crate) const IS_SAMPLE: bool = false;

pub(crate) fn begin_if_wanted(_inner: &'static str) -> bool {
    false
}

pub(crate) use super::elsewhere::{Caller, alloc_below, dealloc_below, with_caller};

pub(crate) fn allocation(_: &Layout, _: Function, _: &Caller, call: impl FnOnce() -> *mut u8) -> *mut u8 {
    call()
}

pub(crate) fn deallocation(_: *mut u8, _: &Caller, call: impl FnOnce()) {
    call();
}

pub(crate) fn reallocation(
    _: *mut u8,
    _: &Layout,
    _: usize,
    _: &Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    call()
}

pub(crate) fn mark(_: Mark, _: &str) {}

/// Here the sampler excludes it, or nothing is recorded.
#[cfg(feature = "serve")]
pub(crate) fn exclude_this_thread() {}
