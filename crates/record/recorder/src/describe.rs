//! Calls the real allocator and describes the call.
//!
//! The order matters when the threads' events are merged: a block is described *after* the real function handed it
//! out and *before* it is freed, so the clock readings of a free and of the next allocation of the same address
//! are in the order of the events themselves (docs/adr/0002-epochs-instead-of-timestamps.md).

use crate::arch::entry::Entry;
use crate::arch::tls::{self, Words};
use crate::inside::sizes;
use crate::process::PROCESS;
use crate::stopwatch::Stopwatch;
use crate::turn::{Recording, begin, begin_alone, begin_aside, enter_real};
use crate::{bootstrap, guard, large, nested, real};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Event};

/// Describes a block that was handed out by the allocator whose functions are found by their names, or the refusal.
#[inline(always)]
pub(crate) fn handed_out(
    words: Words,
    block: *mut u8,
    size: usize,
    align: usize,
    function: AllocFunction,
    entry: Entry,
) {
    handed_out_by(AllocatorNumber::BY_NAME, words, block, (size, align), function, entry);
}

/// The same for any allocator. Size and alignment are those that were requested.
#[inline(always)]
pub(crate) fn handed_out_by(
    allocator: AllocatorNumber,
    words: Words,
    block: *mut u8,
    (size, align): (usize, usize),
    function: AllocFunction,
    entry: Entry,
) {
    if PROCESS.is_sampling() && !block.is_null() && passes_over(words, size) {
        return;
    }
    handed_out_after_deciding(allocator, words, block, (size, align), function, entry);
}

/// The same where it was looked at before the call whether the request is passed over.
#[inline(always)]
pub(crate) fn handed_out_after_deciding(
    allocator: AllocatorNumber,
    words: Words,
    block: *mut u8,
    sizes: (usize, usize),
    function: AllocFunction,
    entry: Entry,
) {
    let Some(turn) = begin(words, entry) else { return forget_time(words) };
    describe_block(turn, allocator, words, block, sizes, function, entry);
}

/// Whether a request is none of the sample, where there is one, and nothing is at work on the thread.
///
/// PERF: whether there is a sample is asked first: most processes are recorded whole.
#[inline(always)]
pub(crate) fn passes_over(words: Words, size: usize) -> bool {
    PROCESS.is_sampling() && is_alone(words) && passes_over_in_sample(words, size)
}

/// Whether a request is none of the sample. Nothing is at work on the thread. By the step of no sample, every request is recorded.
#[inline(always)]
pub(crate) fn passes_over_in_sample(words: Words, size: usize) -> bool {
    let distance = PROCESS.sample_distance();
    // SAFETY: valid as long as the thread runs; this thread's own words, copied as a whole, and no reference to them lives.
    let after = unsafe { (*words).countdown }.after(distance, size as u64);
    if let Some(after) = after {
        // SAFETY: as above.
        unsafe { (*words).countdown = after };
    }
    after.is_some()
}

/// Whether nothing is at work on the thread.
#[inline(always)]
pub(crate) fn is_alone(words: Words) -> bool {
    // SAFETY: this thread's own word, read as a whole; no reference to it lives.
    unsafe { (*words).guard == 0 }
}

/// A request that was passed over was refused.
#[cold]
#[inline(never)]
pub(crate) fn gives_back(words: Words, size: usize) {
    let distance = PROCESS.sample_distance();
    tls::with_countdown(words, |countdown| countdown.gives_back(distance, size as u64));
}

/// Whether a block that is given up is none of the sample. There is one, and nothing is at work on the thread.
#[inline(always)]
pub(crate) fn is_unknown_in_sample(block: *mut u8) -> bool {
    !PROCESS.sampled().may_have(block as usize)
}

/// Calls a function of an allocator inside that hands out a block, and describes that. Size and alignment are those that were requested.
/// The thread's guard is not set.
#[inline(always)]
pub(crate) fn hand_out_inside(
    allocator: AllocatorNumber,
    words: Words,
    sizes: (usize, usize),
    function: AllocFunction,
    entry: Entry,
    call: impl FnOnce() -> usize,
) -> usize {
    let watch = Stopwatch::start(words);
    // SAFETY: this thread's own word; no reference to it lives.
    unsafe { (*words).guard = entry.stack_pointer | guard::REAL };
    let block = call();
    watch.stop(words);
    // PERF: the guard goes from the allocator's to the recorder's.
    match begin_alone(words, entry) {
        Some(turn) => describe_block(turn, allocator, words, block as *mut u8, sizes, function, entry),
        None => forget_time(words),
    }
    block
}

#[inline(always)]
fn describe_block(
    mut turn: Recording,
    allocator: AllocatorNumber,
    words: Words,
    block: *mut u8,
    (size, align): (usize, usize),
    function: AllocFunction,
    entry: Entry,
) {
    // A refusal is always recorded.
    if turn.is_sampling() && !block.is_null() && !turn.selects(block as usize, size) {
        if turn.is_nested() {
            nested::note_block(entry.stack_pointer, block as usize, size);
        }
        return;
    }
    let clock = turn.clock();
    if !turn.at(clock) {
        // Nothing is recorded at the moment, and so is its free not to be.
        turn.was_recorded(block as usize);
        return forget_time(words);
    }
    let stack = turn.stack(entry);
    if turn.is_nested() {
        nested::note_block(entry.stack_pointer, block as usize, size);
    }
    if block.is_null() {
        turn.push(Event::Failed { size: size as u64, function, stack });
        return forget_time(words);
    }
    large::allocated(block as usize, size);
    let align_log2 = align.checked_ilog2().unwrap_or(0) as u8;
    let address = BlockAddress(block as u64);
    turn.push(Event::Alloc { address, size: size as u64, align_log2, function, allocator, stack });
    let may_ask = turn.tell_time() && allocator != AllocatorNumber::BY_NAME && !turn.is_nested();
    drop(turn);
    if may_ask {
        sizes::ask(allocator);
    }
}

/// Describes a block that is about to be freed.
#[inline(always)]
pub(crate) fn freed(words: Words, block: *mut u8, entry: Entry) {
    if PROCESS.is_sampling() && is_alone(words) && is_unknown_in_sample(block) {
        return;
    }
    let Some(mut turn) = begin(words, entry) else { return };
    if turn.is_sampling() && !turn.was_recorded(block as usize) {
        if turn.is_nested() {
            nested::note_release(block as usize);
        }
        return;
    }
    let clock = turn.clock();
    if !turn.at(clock) {
        return;
    }
    if turn.is_nested() {
        return freed_in_operator(turn, block);
    }
    let touched = large::freed(block as usize, &mut turn.thread.large_budget);
    turn.push(Event::Free { address: BlockAddress(block as u64), touched });
}

/// Calls a function of an allocator that may call others, for what is none of the sample. The thread's guard is not set.
#[inline(always)]
pub(crate) fn pass<T>(words: Words, stack_pointer: usize, call: impl FnOnce() -> T) -> T {
    // SAFETY: this thread's own word, written as a whole; no reference to it lives.
    unsafe { (*words).guard = stack_pointer | guard::REAL };
    let result = call();
    // SAFETY: as above.
    unsafe { (*words).guard = 0 };
    result
}

/// Describes a block that is about to be freed, and calls a function of an allocator inside that does it. The thread's guard is not set.
#[inline(always)]
pub(crate) fn free_inside(words: Words, block: *mut u8, entry: Entry, call: impl FnOnce() -> usize) -> usize {
    let Some(mut turn) = begin_alone(words, entry) else {
        let result = in_inside(words, entry, call);
        forget_time(words);
        return result;
    };
    if !turn.is_sampling() || turn.was_recorded(block as usize) {
        let clock = turn.clock();
        if turn.at(clock) {
            let touched = large::freed(block as usize, &mut turn.thread.large_budget);
            turn.push(Event::Free { address: BlockAddress(block as u64), touched });
        }
    }
    // PERF: the guard goes from the recorder's to the allocator's.
    turn.leave_to_inside(entry);
    let watch = Stopwatch::start(words);
    let result = call();
    // SAFETY: this thread's own word; no reference to it lives.
    unsafe { (*words).guard = 0 };
    watch.stop(words);
    tell_time(words, entry);
    result
}

/// A separate function, so that the path that is taken each time stays short.
#[cold]
#[inline(never)]
fn freed_in_operator(mut turn: Recording, block: *mut u8) {
    let touched = large::freed(block as usize, &mut turn.thread.large_budget);
    let touched = touched.or(nested::note_release(block as usize));
    turn.push(Event::Free { address: BlockAddress(block as u64), touched });
}

/// Drops the measurement of a call that is not recorded. Otherwise the next recorded call would get it.
#[cold]
pub(crate) fn forget_time(words: Words) {
    // SAFETY: this thread's own word, written as a whole; no reference to it lives.
    unsafe { (*words).ticks = 0 };
}

/// Records how long it took to free a block, if that was measured.
#[inline(always)]
pub(crate) fn tell_time(words: Words, entry: Entry) {
    // SAFETY: this thread's own word, read as a whole; no reference to it lives.
    if unsafe { (*words).ticks } != 0 {
        tell_time_now(words, entry);
    }
}

#[cold]
#[inline(never)]
pub(crate) fn tell_time_now(words: Words, entry: Entry) {
    let Some(mut turn) = begin_aside(words, entry) else { return forget_time(words) };
    let clock = turn.clock();
    if turn.at(clock) {
        turn.tell_time();
    } else {
        forget_time(words);
    }
}

/// Calls into the real allocator. One that is not glibc may call the interposed functions itself; what arrives
/// meanwhile on this thread is internal to it and not recorded.
#[inline(always)]
pub(crate) fn in_real<T>(words: Words, entry: Entry, call: impl FnOnce() -> T) -> T {
    let watch = Stopwatch::start(words);
    if !real::may_reenter() {
        let result = call();
        watch.stop(words);
        return result;
    }
    guarded(words, watch, entry, call)
}

/// Calls into an allocator inside of the program. What arrives meanwhile on this thread at another of its functions is internal to it.
#[inline(always)]
pub(crate) fn in_inside<T>(words: Words, entry: Entry, call: impl FnOnce() -> T) -> T {
    guarded(words, Stopwatch::start(words), entry, call)
}

#[inline(always)]
fn guarded<T>(words: Words, watch: Stopwatch, entry: Entry, call: impl FnOnce() -> T) -> T {
    // SAFETY: this thread's own words; no reference to them lives.
    let before = unsafe { (*words).guard };
    let (during, after) =
        if before == 0 { (entry.stack_pointer | guard::REAL, 0) } else { enter_real(words, entry) };
    // SAFETY: as above.
    unsafe { (*words).guard = during };
    let result = call();
    // SAFETY: as above.
    unsafe { (*words).guard = after };
    if after == 0 {
        watch.stop(words);
    }
    result
}

/// What has to be known of a block before it is resized: what it has touched, and when it was given up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resizing {
    /// Whether events are recorded here.
    is_seen: bool,
    /// Of a sample: whether the block is one of it.
    was_recorded: bool,
    clock: u64,
    touched: Option<u32>,
}

/// Before a block is resized.
#[inline(always)]
pub(crate) fn resizing(words: Words, block: *mut u8, entry: Entry) -> Resizing {
    let Some(turn) = begin(words, entry) else { return Resizing::default() };
    let was_recorded = !turn.is_sampling() || turn.was_recorded(block as usize);
    let touched =
        if was_recorded { large::freed(block as usize, &mut turn.thread.large_budget) } else { None };
    let clock = turn.clock().max(turn.thread.clock);
    Resizing { is_seen: true, was_recorded, clock, touched }
}

/// Describes a block that has another size now, at the same address or at another one.
#[inline(always)]
pub(crate) fn resized(
    allocator: AllocatorNumber,
    words: Words,
    (old, new): (*mut u8, *mut u8),
    size: usize,
    before: Resizing,
    entry: Entry,
) {
    if !before.is_seen {
        return forget_time(words);
    }
    let Some(mut turn) = begin(words, entry) else { return forget_time(words) };
    if turn.is_sampling() {
        return resized_in_sample(turn, allocator, (old, new), size, before, entry);
    }
    if !turn.at(before.clock.max(turn.thread.clock)) {
        return forget_time(words);
    }
    let (old, size, touched) = (BlockAddress(old as u64), size as u64, before.touched);
    let stack = turn.stack(entry);
    if new.is_null() {
        // glibc frees a block that is resized to nothing; any other null is a refusal that leaves it alone.
        turn.push(match size {
            0 => Event::Free { address: old, touched },
            _ => Event::Failed { size, function: AllocFunction::Realloc, stack },
        });
        return forget_time(words);
    }
    large::allocated(new as usize, size as usize);
    let new = BlockAddress(new as u64);
    let after = turn.clock();
    if after == turn.thread.clock {
        turn.push(Event::Realloc { old, new, size, stack, touched, allocator });
        turn.tell_time();
        return;
    }
    turn.push(Event::ReallocBegin { old, touched });
    // If recording was paused in between, the second half still belongs to the first.
    turn.at(after);
    turn.push(Event::ReallocEnd { new, size, stack, allocator });
    turn.tell_time();
}

/// Describes a block that has another size where it is. `clock` is a reading from before.
#[inline(always)]
pub(crate) fn resized_in_place(
    allocator: AllocatorNumber,
    words: Words,
    block: *mut u8,
    size: usize,
    clock: u64,
    entry: Entry,
) {
    // It was the caller's all the time, so this may come afterwards.
    let was_recorded = begin_aside(words, entry)
        .is_some_and(|turn| !turn.is_sampling() || turn.was_recorded(block as usize));
    let before = Resizing { is_seen: true, was_recorded, clock, touched: None };
    resized(allocator, words, (block, block), size, before, entry);
}

/// The same as [`resized`] of a sample: whether the block is recorded at its new size is decided anew, so either half may be missing.
#[inline(never)]
fn resized_in_sample(
    mut turn: Recording,
    allocator: AllocatorNumber,
    (old, new): (*mut u8, *mut u8),
    size: usize,
    before: Resizing,
    entry: Entry,
) {
    let Resizing { was_recorded, touched, .. } = before;
    let given_up = before.clock.max(turn.thread.clock);
    let address = BlockAddress(old as u64);
    if new.is_null() && size != 0 {
        // It is left alone.
        if was_recorded {
            turn.notes(old as usize);
        }
        if turn.at(given_up) {
            let stack = turn.stack(entry);
            turn.push(Event::Failed { size: size as u64, function: AllocFunction::Realloc, stack });
        }
        return;
    }
    let is_recorded = !new.is_null() && turn.selects(new as usize, size);
    if !was_recorded && !is_recorded {
        return;
    }
    if !turn.at(given_up) {
        turn.was_recorded(new as usize);
        return;
    }
    if was_recorded {
        turn.push(match new.is_null() {
            true => Event::Free { address, touched },
            false => Event::ReallocBegin { old: address, touched },
        });
    }
    if is_recorded {
        let after = turn.clock();
        turn.at(after);
        let stack = turn.stack(entry);
        large::allocated(new as usize, size);
        turn.push(Event::ReallocEnd { new: BlockAddress(new as u64), size: size as u64, stack, allocator });
    }
}

/// An `operator new`: described here, unless it has ended in a call that was.
pub(crate) fn describe_new(
    entry: Entry,
    size: usize,
    align: usize,
    function: AllocFunction,
    real: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let words = tls::words();
    let operator = nested::Operator::begin(entry.stack_pointer, 0, None);
    let block = in_real(words, entry, real);
    if operator.ends_with(entry.stack_pointer, block as usize) {
        forget_time(words);
    } else {
        handed_out(words, block, size, align, function, entry);
    }
    block
}

/// An `operator delete`: described here, unless it ends in a call that is.
pub(crate) fn describe_delete(entry: Entry, block: *mut u8, real: impl FnOnce()) {
    if block.is_null() || bootstrap::owns(block) {
        return;
    }
    if nested::may_end_in_malloc() {
        return describe_delete_afterwards(entry, block, real);
    }
    let words = tls::words();
    freed(words, block, entry);
    in_real(words, entry, real);
    tell_time(words, entry);
}

/// Whether the operator ends in `free` is known when it has ended. As for a block that is resized, what has to be known before
/// is found out before.
#[inline(never)]
fn describe_delete_afterwards(entry: Entry, block: *mut u8, real: impl FnOnce()) {
    let words = tls::words();
    let before = begin_aside(words, entry).map(|turn| {
        let touched = large::freed(block as usize, &mut turn.thread.large_budget);
        (turn.clock_before(block as usize), touched)
    });
    let touched = before.and_then(|(_, touched)| touched);
    let operator = nested::Operator::begin(entry.stack_pointer, block as usize, touched);
    in_real(words, entry, real);
    if operator.ends() {
        return forget_time(words);
    }
    let Some(mut turn) = begin(words, entry) else { return forget_time(words) };
    if turn.is_sampling() && !turn.was_recorded(block as usize) {
        return;
    }
    let clock = before.map_or(turn.thread.clock, |(clock, _)| clock.max(turn.thread.clock));
    if !turn.at(clock) {
        return forget_time(words);
    }
    turn.push(Event::Free { address: BlockAddress(block as u64), touched });
    turn.tell_time();
}
