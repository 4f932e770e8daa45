//! The end of a heap: a program may have several in one allocator, and give all blocks of one up at once.
//!
//! What a heap still has when it ends is known to the allocator alone, so it is asked: mimalloc's `mi_heap_visit_blocks` visits each
//! block, which is described as freed before the heap ends. It has to be safe then, for whoever ends a heap may not use it from other
//! threads meanwhile.
//!
//! A block that begins later than its place, for the sake of its alignment, is visited by its place and so not found: it counts as live
//! until its address is handed out again.

use super::callable::{self, Callable};
use super::slots::Slot;
use crate::arch::entry::Entry;
use crate::arch::tls::{self, Words, waiting};
use crate::describe::{forget_time, freed, in_inside};
use crate::process::PROCESS;
use core::ffi::c_void;
use core::sync::atomic::Ordering;
use heapwise_trace::event::AllocatorNumber;

/// Allocators of one process whose heaps can be visited.
const MOST: usize = 4;
static VISIT: [Callable; MOST] = [const { Callable::none() }; MOST];

/// `mi_heap_visit_blocks(heap, whether blocks, visitor, argument)`.
type Visit = unsafe extern "C" fn(usize, bool, Visitor, *mut c_void) -> bool;
/// `visitor(heap, area, block, block size, argument)`: the block is null for the area itself. Returns whether to go on.
type Visitor = unsafe extern "C" fn(usize, *const c_void, *mut u8, usize, *mut c_void) -> bool;

/// Notes the function by which an allocator has the blocks of a heap visited.
pub(super) fn note(number: AllocatorNumber, function: usize) {
    callable::note(&VISIT, number, function);
}

/// Whose blocks are given up.
struct GivenUp {
    words: Words,
    entry: Entry,
}

unsafe extern "C" fn give_up(
    _heap: usize,
    _area: *const c_void,
    block: *mut u8,
    _size: usize,
    given_up: *mut c_void,
) -> bool {
    if !block.is_null() {
        // SAFETY: what `destroy` has handed on: it lives until all blocks are visited, and nothing writes to it.
        let GivenUp { words, entry } = unsafe { &*given_up.cast::<GivenUp>() };
        freed(*words, block, *entry);
    }
    true
}

/// A function that ends a heap with all its blocks.
///
/// # Safety
/// As the function of the slot; `sp` and `fp` are the caller's registers, as the shim found them.
pub(super) unsafe extern "C" fn destroy(
    heap: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    let (words, entry) = (tls::words(), Entry { stack_pointer: sp, frame_pointer: fp });
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_six() };
    // SAFETY: the caller's call.
    let call = || unsafe { real(heap, b, c, d, e, f) };
    if heap == 0 || slot.is_inner(words, entry) {
        return waiting(words, call);
    }
    if let Some(visit) = VISIT.iter().find(|visit| visit.is_of(slot.allocator())).and_then(Callable::address)
    {
        // SAFETY: the address of a function of this type, by its name in the symbols of a file whose code was compared with what is
        // mapped there, and that still has the same code; it is valid as long as the caller, whose file it is in, runs.
        let visit = unsafe { core::mem::transmute::<usize, Visit>(visit) };
        let mut given_up = GivenUp { words, entry };
        // SAFETY: a heap of the same allocator, which its owner is about to end: no other thread uses it. What is handed on lives until the
        // call is over, and is only read meanwhile.
        waiting(words, || unsafe { visit(heap, true, give_up, (&raw mut given_up).cast()) });
    } else if let Some(header) = PROCESS.header() {
        // The report says it; the process goes on.
        header.unseen_heap_ends.fetch_or(1 << slot.allocator().0, Ordering::Relaxed);
    }
    let result = in_inside(words, entry, call);
    // How long this takes says nothing of how long it takes to free a block.
    forget_time(words);
    result
}
