//! What each interposed function does that hands out blocks, resizes them or takes them back: call the real one, and have
//! the call described.

use crate::arch::entry::{Entry, keep_in_memory};
use crate::arch::tls::{self, Words};
use crate::describe::{self, freed, handed_out, in_real, resized, resizing, tell_time};
use crate::process::{A_SAMPLE, EVERYTHING, PROCESS};
use crate::real::real_or;
use crate::{bootstrap, real, sys};
use core::ffi::c_int;
use heapwise_trace::event::{AllocFunction, AllocatorNumber};

macro_rules! entry {
    ($sp:ident, $fp:ident) => {
        Entry { stack_pointer: $sp, frame_pointer: $fp }
    };
}

/// What has to be done of a call besides the call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Todo {
    /// It is described.
    Describe,
    /// It is none of the sample.
    PassOver,
    /// Nothing, and nothing has to be known of it: this process is not recorded, or not by this recorder.
    Nothing,
}

impl Todo {
    /// What is to be done if there is a sample is asked only then.
    #[inline(always)]
    fn of(is_passed_over: impl FnOnce(Words) -> bool) -> Self {
        match PROCESS.recorded() {
            EVERYTHING => Self::Describe,
            A_SAMPLE => {
                let words = tls::words();
                match describe::is_alone(words) && is_passed_over(words) {
                    true => Self::PassOver,
                    false => Self::Describe,
                }
            }
            _ => Self::Nothing,
        }
    }
}

/// `malloc`.
///
/// # Safety
/// As the C function; `sp` and `fp` are the caller's, as the entry point found them. So for all the following.
pub unsafe extern "C" fn malloc(size: usize, sp: usize, fp: usize) -> *mut u8 {
    match Todo::of(|words| describe::passes_over_in_sample(words, size)) {
        // SAFETY: handed on.
        Todo::Describe => unsafe { malloc_seen(size, sp, fp) },
        // SAFETY: the caller's call.
        Todo::PassOver => unsafe { malloc_passed_over(size, sp, fp) },
        // SAFETY: as above.
        Todo::Nothing => unsafe { malloc_unrecorded(size) },
    }
}

// PERF: functions of their own, so that none has the frame that another one needs.

#[inline(never)]
unsafe extern "C" fn malloc_unrecorded(size: usize) -> *mut u8 {
    let real = real_or!(malloc, bootstrap::allocate(size, 16));
    // SAFETY: the caller's call.
    unsafe { real(size) }
}

#[inline(never)]
unsafe extern "C" fn malloc_passed_over(size: usize, sp: usize, fp: usize) -> *mut u8 {
    // SAFETY: handed on.
    let Some(real) = real::malloc() else { return unsafe { malloc_unrecorded(size) } };
    let request = PassedOver { size, function: AllocFunction::Malloc, entry: entry!(sp, fp) };
    // SAFETY: the caller's call.
    pass_over(&request, || unsafe { real(size) })
}

/// A request that is none of the sample.
struct PassedOver {
    size: usize,
    function: AllocFunction,
    entry: Entry,
}

#[inline(always)]
fn pass_over(request: &PassedOver, real: impl FnOnce() -> *mut u8) -> *mut u8 {
    keep_in_memory(request);
    let block = match real::may_reenter() {
        // What arrives from the allocator meanwhile is none of the program's.
        true => describe::pass(tls::words(), request.entry.stack_pointer, real),
        false => real(),
    };
    if block.is_null() {
        refused(request);
    }
    block
}

/// A refusal is always recorded, and none of the sample.
#[cold]
#[inline(never)]
fn refused(request: &PassedOver) {
    let words = tls::words();
    describe::gives_back(words, request.size);
    handed_out(words, core::ptr::null_mut(), request.size, 0, request.function, request.entry);
}

#[inline(never)]
unsafe extern "C" fn malloc_seen(size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(malloc, bootstrap::allocate(size, 16));
    let words = tls::words();
    // SAFETY: the caller's call.
    let block = in_real(words, entry!(sp, fp), || unsafe { real(size) });
    handed_out(words, block, size, 0, AllocFunction::Malloc, entry!(sp, fp));
    block
}

/// `calloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn calloc(count: usize, size: usize, sp: usize, fp: usize) -> *mut u8 {
    match Todo::of(|words| describe::passes_over_in_sample(words, count.saturating_mul(size))) {
        // SAFETY: handed on.
        Todo::Describe => unsafe { calloc_seen(count, size, sp, fp) },
        // SAFETY: the caller's call.
        Todo::PassOver => unsafe { calloc_passed_over(count, size, sp, fp) },
        // SAFETY: as above.
        Todo::Nothing => unsafe { calloc_unrecorded(count, size) },
    }
}

#[inline(never)]
unsafe extern "C" fn calloc_unrecorded(count: usize, size: usize) -> *mut u8 {
    let real = real_or!(calloc, bootstrap::allocate(count.saturating_mul(size), 16));
    // SAFETY: the caller's call.
    unsafe { real(count, size) }
}

#[inline(never)]
unsafe extern "C" fn calloc_passed_over(count: usize, size: usize, sp: usize, fp: usize) -> *mut u8 {
    // SAFETY: handed on.
    let Some(real) = real::calloc() else { return unsafe { calloc_unrecorded(count, size) } };
    let (bytes, function) = (count.saturating_mul(size), AllocFunction::Calloc);
    // SAFETY: the caller's call.
    pass_over(&PassedOver { size: bytes, function, entry: entry!(sp, fp) }, || unsafe { real(count, size) })
}

#[inline(never)]
unsafe extern "C" fn calloc_seen(count: usize, size: usize, sp: usize, fp: usize) -> *mut u8 {
    let bytes = count.saturating_mul(size);
    let real = real_or!(calloc, bootstrap::allocate(bytes, 16));
    let words = tls::words();
    // SAFETY: the caller's call.
    let block = in_real(words, entry!(sp, fp), || unsafe { real(count, size) });
    handed_out(words, block, bytes, 0, AllocFunction::Calloc, entry!(sp, fp));
    block
}

/// `free`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn free(block: *mut u8, sp: usize, fp: usize) {
    // PERF: a block that is none of the sample is not looked at any further, whoever frees it.
    if Todo::of(|_| describe::is_unknown_in_sample(block)) != Todo::Describe
        && !bootstrap::owns(block)
        && let Some(real) = real::free()
    {
        // SAFETY: the caller's call.
        return unsafe { real(block) };
    }
    // SAFETY: handed on.
    unsafe { free_seen(block, sp, fp) }
}

#[inline(never)]
unsafe extern "C" fn free_seen(block: *mut u8, sp: usize, fp: usize) {
    if block.is_null() || bootstrap::owns(block) {
        return;
    }
    let Some(real) = real::free().or_else(find_free) else { return };
    let words = tls::words();
    freed(words, block, entry!(sp, fp));
    // SAFETY: the caller's call.
    in_real(words, entry!(sp, fp), || unsafe { real(block) });
    tell_time(words, entry!(sp, fp));
}

/// The real `free`, looked up now. While the real functions are being looked up there is nothing to free that could be freed.
#[cold]
#[inline(never)]
fn find_free() -> Option<unsafe extern "C" fn(*mut u8)> {
    real::resolve();
    real::free()
}

/// `free_sized` of C23: by its definition the same as `free`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn free_sized(block: *mut u8, _size: usize, sp: usize, fp: usize) {
    // SAFETY: handed on.
    unsafe { free(block, sp, fp) }
}

/// `free_aligned_sized` of C23: by its definition the same as `free`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn free_aligned_sized(
    block: *mut u8,
    _align: usize,
    _size: usize,
    sp: usize,
    fp: usize,
) {
    // SAFETY: handed on.
    unsafe { free(block, sp, fp) }
}

/// `realloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn realloc(block: *mut u8, size: usize, sp: usize, fp: usize) -> *mut u8 {
    // What is resized to nothing may be given up, and that is no request.
    let is_usual = !block.is_null() && size != 0 && !bootstrap::owns(block);
    let passes_over = |words| {
        is_usual && describe::is_unknown_in_sample(block) && describe::passes_over_in_sample(words, size)
    };
    match Todo::of(passes_over) {
        // SAFETY: the caller's call.
        Todo::PassOver => unsafe { realloc_passed_over(block, size, sp, fp) },
        // SAFETY: as above.
        _ => unsafe { realloc_seen(block, size, sp, fp) },
    }
}

#[inline(never)]
unsafe extern "C" fn realloc_passed_over(block: *mut u8, size: usize, sp: usize, fp: usize) -> *mut u8 {
    // SAFETY: handed on.
    let Some(real) = real::realloc() else { return unsafe { realloc_seen(block, size, sp, fp) } };
    let request = PassedOver { size, function: AllocFunction::Realloc, entry: entry!(sp, fp) };
    // SAFETY: the caller's call.
    pass_over(&request, || unsafe { real(block, size) })
}

#[inline(never)]
unsafe extern "C" fn realloc_seen(block: *mut u8, size: usize, sp: usize, fp: usize) -> *mut u8 {
    let entry = entry!(sp, fp);
    if bootstrap::owns(block) {
        // SAFETY: a block of the bootstrap arena, whose size is known.
        return unsafe { move_from_bootstrap(block, size, entry) };
    }
    let real = real_or!(realloc, bootstrap::allocate(size, 16));
    if PROCESS.is_inert() {
        // SAFETY: the caller's call.
        return unsafe { real(block, size) };
    }
    let words = tls::words();
    if block.is_null() {
        // SAFETY: the caller's call.
        let new = in_real(words, entry!(sp, fp), || unsafe { real(block, size) });
        handed_out(words, new, size, 0, AllocFunction::Realloc, entry);
        return new;
    }
    let before = resizing(words, block, entry);
    // SAFETY: the caller's call.
    let new = in_real(words, entry!(sp, fp), || unsafe { real(block, size) });
    resized(AllocatorNumber::BY_NAME, words, (block, new), size, before, entry);
    new
}

/// # Safety
/// `block` is of the bootstrap arena.
#[cold]
unsafe fn move_from_bootstrap(block: *mut u8, size: usize, entry: Entry) -> *mut u8 {
    // SAFETY: an entry point's arguments are handed on.
    let new = unsafe { malloc(size, entry.stack_pointer, entry.frame_pointer) };
    if !new.is_null() {
        // SAFETY: both blocks are at least as large as what is copied, and different.
        unsafe { core::ptr::copy_nonoverlapping(block, new, bootstrap::size_of_block(block).min(size)) };
    }
    new
}

/// `reallocarray`: `realloc` but for an overflow, which the real function is asked to report.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn reallocarray(
    block: *mut u8,
    count: usize,
    size: usize,
    sp: usize,
    fp: usize,
) -> *mut u8 {
    // No allocator hands out the largest size, so an overflow becomes a refusal with the right error number.
    let bytes = count.saturating_mul(size);
    // SAFETY: handed on.
    unsafe { realloc(block, bytes, sp, fp) }
}

/// `posix_memalign`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn posix_memalign(
    out: *mut *mut u8,
    align: usize,
    size: usize,
    sp: usize,
    fp: usize,
) -> c_int {
    const ENOMEM: c_int = 12;
    let real = real_or!(posix_memalign, {
        let block = bootstrap::allocate(size, align);
        // SAFETY: the caller's pointer to a pointer.
        unsafe { out.write(block) };
        if block.is_null() { ENOMEM } else { 0 }
    });
    let words = tls::words();
    // SAFETY: the caller's call.
    let error = in_real(words, entry!(sp, fp), || unsafe { real(out, align, size) });
    // SAFETY: on success the real function has written the block there.
    let block = if error == 0 { unsafe { out.read() } } else { core::ptr::null_mut() };
    handed_out(words, block, size, align, AllocFunction::PosixMemalign, entry!(sp, fp));
    error
}

/// `aligned_alloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn aligned_alloc(align: usize, size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(aligned_alloc, bootstrap::allocate(size, align));
    let words = tls::words();
    // SAFETY: the caller's call.
    let block = in_real(words, entry!(sp, fp), || unsafe { real(align, size) });
    handed_out(words, block, size, align, AllocFunction::AlignedAlloc, entry!(sp, fp));
    block
}

/// `memalign`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn memalign(align: usize, size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(memalign, bootstrap::allocate(size, align));
    let words = tls::words();
    // SAFETY: the caller's call.
    let block = in_real(words, entry!(sp, fp), || unsafe { real(align, size) });
    handed_out(words, block, size, align, AllocFunction::Memalign, entry!(sp, fp));
    block
}

/// `valloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn valloc(size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(valloc, bootstrap::allocate(size, sys::PAGE));
    let words = tls::words();
    // SAFETY: the caller's call.
    let block = in_real(words, entry!(sp, fp), || unsafe { real(size) });
    handed_out(words, block, size, sys::PAGE, AllocFunction::Valloc, entry!(sp, fp));
    block
}

/// `pvalloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn pvalloc(size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(pvalloc, bootstrap::allocate(size, sys::PAGE));
    let words = tls::words();
    // SAFETY: the caller's call.
    let block = in_real(words, entry!(sp, fp), || unsafe { real(size) });
    handed_out(words, block, size, sys::PAGE, AllocFunction::Pvalloc, entry!(sp, fp));
    block
}
