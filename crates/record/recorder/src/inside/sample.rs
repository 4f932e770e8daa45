//! What requests of an allocator's functions become where only a sample of the blocks is recorded: nearly all are none of it. Blocks that are
//! given up are tested in front of this ([`Way::OfSample`](crate::arch::jump::Way::OfSample)).
//!
//! PERF: what tests a call hands on by a jump to what describes one, which keeps six registers. Here two or three are kept, for those that are
//! passed over.

use super::calls;
use super::requests::Request;
use super::slots::Slot;
use crate::arch::entry::{Entry, keep_in_memory};
use crate::arch::tls::{self, Words};
use crate::describe::{
    gives_back, handed_out_by, is_alone, is_unknown_in_sample, pass, passes_over_in_sample,
};
use heapwise_trace::event::AllocFunction;

type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, &Slot) -> usize;

/// `f(size)` of what is no wrapper.
pub(super) unsafe extern "C" fn allocate(
    size: usize,
    b: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    // SAFETY: handed on.
    unsafe { allocate_or([size, b, c], sp, fp, slot, calls::allocate_plain) }
}

/// `f(size, align)` of what is no wrapper.
pub(super) unsafe extern "C" fn allocate_aligned(
    size: usize,
    align: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    // SAFETY: handed on.
    unsafe { allocate_or([size, align, c], sp, fp, slot, calls::allocate_aligned_plain) }
}

/// Hands on to `describe` what may be recorded. The sample decides there once more, and in the same way.
///
/// # Safety
/// The call of the slot's function.
#[inline(always)]
unsafe fn allocate_or(arguments: [usize; 3], sp: usize, fp: usize, slot: &Slot, describe: Function) -> usize {
    let [size, b, c] = arguments;
    let Some(words) =
        tls::known_words().filter(|&words| is_alone(words) && passes_over_in_sample(words, size))
    else {
        // SAFETY: the caller's call.
        return unsafe { describe(size, b, c, sp, fp, slot) };
    };
    let call = Call { arguments, entry: Entry { stack_pointer: sp, frame_pointer: fp }, slot };
    // SAFETY: the caller's call.
    unsafe { pass_over(words, &call, refused) }
}

/// `f(block, size)` of what is no wrapper.
pub(super) unsafe extern "C" fn resize(
    block: usize,
    size: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    // What is resized to nothing may be given up, and that is no request.
    let is_usual = block != 0 && size != 0 && is_unknown_in_sample(block as *mut u8);
    let Some(words) =
        tls::known_words().filter(|&words| is_usual && is_alone(words) && passes_over_in_sample(words, size))
    else {
        // SAFETY: the caller's call.
        return unsafe { calls::resize(block, size, c, sp, fp, slot) };
    };
    let entry = Entry { stack_pointer: sp, frame_pointer: fp };
    let call = Call { arguments: [block, size, c], entry, slot };
    // SAFETY: the caller's call.
    unsafe { pass_over(words, &call, refused_to_resize) }
}

struct Call<'a> {
    arguments: [usize; 3],
    entry: Entry,
    slot: &'a Slot,
}

/// Calls the function, for what is none of the sample.
///
/// # Safety
/// The call of the slot's function.
#[inline(always)]
unsafe fn pass_over(words: Words, call: &Call<'_>, refused: fn(Words, &Call<'_>)) -> usize {
    // PERF: kept in memory for one that is refused, not in registers, which would have to be kept themselves.
    keep_in_memory(call);
    let [a, b, c] = call.arguments;
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { call.slot.function_of_three() };
    // SAFETY: the caller's call.
    let block = pass(words, call.entry.stack_pointer, || unsafe { real(a, b, c) });
    if block == 0 {
        refused(words, call);
    }
    block
}

/// A refusal is always recorded, and none of the sample.
#[cold]
#[inline(never)]
fn refused(words: Words, call: &Call<'_>) {
    let request = Request::of(call.slot.kind(), call.arguments);
    gives_back(words, request.size);
    let (function, align) = request.function();
    let (sizes, allocator) = ((request.size, align), call.slot.allocator());
    handed_out_by(allocator, words, core::ptr::null_mut(), sizes, function, call.entry);
}

#[cold]
#[inline(never)]
fn refused_to_resize(words: Words, call: &Call<'_>) {
    let (size, allocator) = (call.arguments[1], call.slot.allocator());
    gives_back(words, size);
    handed_out_by(allocator, words, core::ptr::null_mut(), (size, 0), AllocFunction::Realloc, call.entry);
}
