//! What each function of an allocator inside of the program does: call it where it goes on, and have the call described.
//!
//! Stubs and shims add three values to the arguments: the stack pointer and the frame pointer of the caller, and the function's slot. So
//! unwinding begins at the caller, and nothing of the jump is in a stack.

use super::passing;
use super::requests::{Request, describe_resize, is_resize, new_size};
use super::slots::Slot;
use crate::arch::entry::Entry;
use crate::arch::tls::{self, waiting};
use crate::describe::{
    forget_time, free_inside, freed, hand_out_inside, handed_out_by, in_inside, is_alone, resized_in_place,
    tell_time,
};
use crate::turn::begin;
use core::ffi::{CStr, c_char, c_int};
use heapwise_trace::event::AllocFunction;
use heapwise_trace::live::hooks::HookKind;

pub(super) unsafe extern "C" fn allocate(
    a: usize,
    b: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    let kind = slot.kind();
    let (words, entry) = (tls::words(), Entry { stack_pointer: sp, frame_pointer: fp });
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_three() };
    if slot.is_inner(words, entry) {
        // SAFETY: the caller's call.
        return waiting(words, || unsafe { real(a, b, c) });
    }
    // SAFETY: the caller's call.
    let call = || unsafe { real(a, b, c) };
    let (block, is_described) = match passing::is_left_alone(slot) {
        false => (in_inside(words, entry, call), true),
        true if passing::is_unknown() => passing::find_out(words, entry, call),
        true => return waiting(words, call),
    };
    if !is_described {
        forget_time(words);
        return block;
    }
    let request = Request::of(kind, [a, b, c]);
    let (function, align) = request.function();
    let sizes = (request.size, align);
    handed_out_by(slot.allocator(), words, block as *mut u8, sizes, function, entry);
    block
}

/// PERF: what most calls are, without a look at what they request, and of what is no wrapper.
pub(super) unsafe extern "C" fn allocate_plain(
    size: usize,
    b: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    allocate_alone([size, b, c], &Request { size, align: 0, is_zeroed: false }, sp, fp, slot)
}

/// PERF: the same for `f(size, align)`, by which Rust programs call mimalloc.
pub(super) unsafe extern "C" fn allocate_aligned_plain(
    size: usize,
    align: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    allocate_alone([size, align, c], &Request { size, align, is_zeroed: false }, sp, fp, slot)
}

#[inline(always)]
fn allocate_alone([a, b, c]: [usize; 3], request: &Request, sp: usize, fp: usize, slot: &Slot) -> usize {
    let words = tls::words();
    if !is_alone(words) {
        // SAFETY: handed on.
        return unsafe { allocate(a, b, c, sp, fp, slot) };
    }
    let entry = Entry { stack_pointer: sp, frame_pointer: fp };
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_three() };
    let (function, align) = request.function();
    // SAFETY: the caller's call.
    let call = || unsafe { real(a, b, c) };
    hand_out_inside(slot.allocator(), words, (request.size, align), function, entry, call)
}

pub(super) unsafe extern "C" fn posix_memalign(
    out: *mut *mut u8,
    align: usize,
    size: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> c_int {
    let (words, entry) = (tls::words(), Entry { stack_pointer: sp, frame_pointer: fp });
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_three() };
    let is_left_alone = passing::is_left_alone(slot);
    if is_left_alone && !passing::is_unknown() || slot.is_inner(words, entry) {
        // SAFETY: the caller's call.
        return waiting(words, || unsafe { real(out as usize, align, size) }) as c_int;
    }
    let mut error = 0;
    let call = || {
        // SAFETY: the caller's call.
        error = unsafe { real(out as usize, align, size) } as c_int;
        // SAFETY: on success the function has written the block there.
        if error == 0 { unsafe { out.read() as usize } } else { 0 }
    };
    let (block, is_described) = match is_left_alone {
        true => passing::find_out(words, entry, call),
        false => (in_inside(words, entry, call), true),
    };
    if !is_described {
        forget_time(words);
        return error;
    }
    let block = block as *mut u8;
    handed_out_by(slot.allocator(), words, block, (size, align), AllocFunction::PosixMemalign, entry);
    error
}

/// PERF: as [`allocate_plain`].
pub(super) unsafe extern "C" fn free_plain(
    block: usize,
    b: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    let words = tls::words();
    if block == 0 || !is_alone(words) {
        // SAFETY: handed on.
        return unsafe { free(block, b, c, sp, fp, slot) };
    }
    let entry = Entry { stack_pointer: sp, frame_pointer: fp };
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_three() };
    // SAFETY: the caller's call.
    free_inside(words, block as *mut u8, entry, || unsafe { real(block, b, c) })
}

pub(super) unsafe extern "C" fn free(
    block: usize,
    b: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    let (words, entry) = (tls::words(), Entry { stack_pointer: sp, frame_pointer: fp });
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_three() };
    if block == 0 || passing::is_left_alone(slot) || slot.is_inner(words, entry) {
        // SAFETY: the caller's call.
        return waiting(words, || unsafe { real(block, b, c) });
    }
    freed(words, block as *mut u8, entry);
    // SAFETY: the caller's call.
    let result = in_inside(words, entry, || unsafe { real(block, b, c) });
    tell_time(words, entry);
    result
}

/// What an allocator does for itself: the functions that it calls meanwhile are not described.
pub(super) unsafe extern "C" fn internal(
    a: usize,
    b: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    let (words, entry) = (tls::words(), Entry { stack_pointer: sp, frame_pointer: fp });
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_three() };
    // SAFETY: the caller's call.
    let result = in_inside(words, entry, || unsafe { real(a, b, c) });
    forget_time(words);
    result
}

pub(super) unsafe extern "C" fn resize(
    block: usize,
    b: usize,
    c: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    let (words, entry) = (tls::words(), Entry { stack_pointer: sp, frame_pointer: fp });
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_three() };
    let size = new_size(slot.kind(), [b, c, 0]);
    let is_left_alone = passing::is_left_alone(slot);
    if is_left_alone && (block != 0 || !passing::is_unknown()) || slot.is_inner(words, entry) {
        // SAFETY: the caller's call.
        return waiting(words, || unsafe { real(block, b, c) });
    }
    if is_left_alone {
        // SAFETY: the caller's call.
        let (new, is_described) = passing::find_out(words, entry, || unsafe { real(block, b, c) });
        if is_described {
            handed_out_by(slot.allocator(), words, new as *mut u8, (size, 0), AllocFunction::Realloc, entry);
        } else {
            forget_time(words);
        }
        return new;
    }
    // SAFETY: the caller's call.
    describe_resize(slot.allocator(), words, block, size, entry, || unsafe { real(block, b, c) })
}

/// A function with up to six arguments, the first of which may be a heap: it hands out a block, or gives one another size.
pub(super) unsafe extern "C" fn many(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    const DUPLICATE: u8 = HookKind::Duplicate as u8;
    let (words, entry) = (tls::words(), Entry { stack_pointer: sp, frame_pointer: fp });
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_six() };
    // SAFETY: the caller's call.
    let call = || unsafe { real(a, b, c, d, e, f) };
    if slot.is_inner(words, entry) {
        return waiting(words, call);
    }
    let own = if slot.is_behind_heap() { [b, c, d, e] } else { [a, b, c, d] };
    let kind = slot.kind();
    if is_resize(kind) {
        let size = new_size(kind, [own[1], own[2], own[3]]);
        return describe_resize(slot.allocator(), words, own[0], size, entry, call);
    }
    let block = in_inside(words, entry, call);
    let request = match kind {
        // Nothing was to be copied, or there was no memory for a size that only the function knows.
        DUPLICATE if block == 0 => {
            forget_time(words);
            return block;
        }
        DUPLICATE => {
            // SAFETY: the function has just written the text there, and the program does not have it yet: nothing changes it.
            let text = unsafe { CStr::from_ptr(block as *const c_char) };
            Request { size: text.to_bytes_with_nul().len(), align: 0, is_zeroed: false }
        }
        _ => Request::of(kind, [own[0], own[1], own[2]]),
    };
    let (function, align) = request.function();
    handed_out_by(slot.allocator(), words, block as *mut u8, (request.size, align), function, entry);
    block
}

/// The block has another size where it is, or not. What cannot be so is a refusal (`xallocx`), or another block, and the caller moves what
/// is in the first one and frees it.
pub(super) unsafe extern "C" fn resize_in_place(
    block: usize,
    size: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    sp: usize,
    fp: usize,
    slot: &Slot,
) -> usize {
    const PREPARE: u8 = HookKind::PrepareResize as u8;
    let (words, entry) = (tls::words(), Entry { stack_pointer: sp, frame_pointer: fp });
    // SAFETY: the slot's function, which the caller has called.
    let real = unsafe { slot.function_of_six() };
    if slot.is_inner(words, entry) {
        // SAFETY: the caller's call.
        return waiting(words, || unsafe { real(block, size, c, d, e, f) });
    }
    let clock = begin(words, entry).map(|turn| turn.clock_before(block));
    // SAFETY: the caller's call.
    let result = in_inside(words, entry, || unsafe { real(block, size, c, d, e, f) });
    let may_move = slot.kind() == PREPARE;
    let is_in_place = if may_move { result == block } else { result >= size };
    match clock {
        Some(clock) if is_in_place => {
            resized_in_place(slot.allocator(), words, block as *mut u8, size, clock, entry);
        }
        Some(_) if may_move => {
            let (new, function) = (result as *mut u8, AllocFunction::Realloc);
            handed_out_by(slot.allocator(), words, new, (size, c), function, entry);
        }
        _ => forget_time(words),
    }
    result
}
