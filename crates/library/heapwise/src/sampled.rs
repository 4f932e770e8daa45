//! The sample of a profile that the program serves.
//!
//! Where recordings are samples as well (`record/portable.rs`), they note blocks for the profile, too, and nothing is to be done here.

use crate::record::{self, Function};
use crate::state::{self, RECORDING, State};
use heapwise_portable::{self as sampler, AllocFunction, Hooks};
use std::alloc::Layout;

/// A sample is noted. One of a profile and a recording uses it at a time, where recordings are samples.
pub(crate) const SAMPLING: State = if record::IS_SAMPLE { RECORDING } else { state::SEPARATE_SAMPLE };

/// Those of a recording come first where there may be one: at the first call of the process.
pub(crate) static HOOKS: Hooks = Hooks { ended: || state::clear(SAMPLING), environment: Vec::new };

#[inline(always)]
fn is_separate() -> bool {
    !record::IS_SAMPLE && state::now().has(SAMPLING)
}

/// Whether nothing watches but the sample, and this allocation is none of it: only the call is left to do.
#[inline(always)]
pub(crate) fn passes_over(state: State, size: usize) -> bool {
    !record::IS_SAMPLE && state == SAMPLING && sampler::passes_over(size)
}

/// The same for a block that is freed.
#[inline(always)]
pub(crate) fn is_other(state: State, block: *mut u8) -> bool {
    !record::IS_SAMPLE && state == SAMPLING && sampler::is_other(block)
}

#[inline(always)]
pub(crate) fn allocation(layout: &Layout, function: Function, call: impl FnOnce() -> *mut u8) -> *mut u8 {
    if !is_separate() {
        return call();
    }
    let function = match function {
        Function::Alloc => AllocFunction::Malloc,
        Function::AllocZeroed => AllocFunction::Calloc,
    };
    sampler::allocation(layout, function, call)
}

#[inline(always)]
pub(crate) fn deallocation(block: *mut u8, call: impl FnOnce()) {
    if is_separate() { sampler::deallocation(block, call) } else { call() }
}

#[inline(always)]
pub(crate) fn reallocation(
    block: *mut u8,
    layout: &Layout,
    size: usize,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    if is_separate() { sampler::reallocation(block, layout, size, call) } else { call() }
}
