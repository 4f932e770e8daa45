//! What each interposed function does: call the real one, and describe the call.
//!
//! The order matters to whoever merges the threads' events: a block is described *after* the real function handed it
//! out and *before* it is given back, so the clock readings of a free and of the next allocation of the same address
//! are in the order of the events themselves (docs/adr/0002-epochs-instead-of-timestamps.md).

use crate::arch::entry::Entry;
use crate::arch::tls::{self, ThreadWords};
use crate::guard::{self, Turn};
use crate::process::PROCESS;
use crate::stopwatch::Stopwatch;
use crate::thread::ThreadState;
use crate::unwind::modules;
use crate::{bootstrap, large, real, sys};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{Ordering, compiler_fence};
use heapwise_trace::event::{AllocFunction, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::live::layout::{CLOCK_EPOCH_MASK, CLOCK_PAUSED, CLOCK_STOPPED};
use heapwise_trace::live::words::encode;

/// The recorder at work for one event of this thread. Dropping it lets the next one in.
struct Turned {
    words: *mut ThreadWords,
    thread: &'static mut ThreadState,
    /// The guard before: 0, or that of the real allocator, which has called something of the program's.
    before: usize,
}

impl Drop for Turned {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: this thread's own words.
        unsafe { (*self.words).guard = self.before };
    }
}

/// Takes this thread's turn; `None` if there is nothing to record to, or the recorder is at work further out.
#[inline(always)]
fn begin(entry: &Entry) -> Option<Turned> {
    let words = tls::words();
    let attached = !PROCESS.clock.load(Ordering::Acquire).is_null();
    // SAFETY: this thread's own words; a signal handler leaves them as it found them.
    let (state, mut before) = unsafe { ((*words).state, (*words).guard) };
    if !attached || before != 0 || state.is_null() {
        before = begin_slowly(words, entry)?;
    }
    // SAFETY: as above. The state is this thread's and, with the guard set, at work only here.
    let thread = unsafe {
        (*words).guard = entry.stack_pointer;
        compiler_fence(Ordering::SeqCst);
        &mut *(*words).state
    };
    Some(Turned { words, thread, before })
}

/// Attaches process and thread, or sorts out a guard that is set. Returns the guard to be set afterwards if the turn is
/// ours.
#[cold]
#[inline(never)]
fn begin_slowly(words: *mut ThreadWords, entry: &Entry) -> Option<usize> {
    // SAFETY: this thread's own words, to which no other reference exists here.
    let words = unsafe { &mut *words };
    if PROCESS.is_inert() {
        return None;
    }
    let before = words.guard;
    let stack = crate::thread::current(words).map_or(0..0, |thread| thread.stack.stacks.current());
    match guard::turn(words, entry.stack_pointer, stack) {
        Turn::Free => {}
        Turn::InReal if !real::contains(entry) => {
            // The real allocator has called the program: a handler for failed requests, say, or the making of an
            // exception; or a signal has arrived. Nothing of ours is under way.
            return (PROCESS.attach() && attach_thread(words)).then_some(before);
        }
        Turn::Internal | Turn::InReal => return None,
        Turn::Busy => {
            PROCESS.count_lost();
            return None;
        }
        Turn::Abandoned => {
            // Only an event that was being described is lost, not one of an allocator that threw an exception.
            if before & guard::REAL == 0 {
                PROCESS.count_lost();
            }
            if let Some(thread) = crate::thread::current(words) {
                thread.stack.forget();
            }
        }
    }
    words.guard = guard::INTERNAL;
    let attached = PROCESS.attach() && attach_thread(words);
    words.guard = 0;
    attached.then_some(0)
}

fn attach_thread(words: &mut ThreadWords) -> bool {
    if crate::thread::current(words).is_some() {
        return true;
    }
    match ThreadState::attach(words.state, &PROCESS) {
        Some(state) => {
            words.state = state;
            true
        }
        None => {
            PROCESS.count_lost();
            false
        }
    }
}

/// Attaches the process before its first allocation, so that one which never allocates is seen, too.
pub fn start() {
    let words = tls::words();
    // SAFETY: this thread's own words.
    unsafe { (*words).guard = guard::INTERNAL };
    if real::resolve()
        && PROCESS.attach()
        && let Some(header) = PROCESS.header()
    {
        PROCESS.describe_allocator(header);
    }
    // SAFETY: as above.
    unsafe { (*words).guard = 0 };
}

impl Turned {
    /// The clock now.
    #[inline(always)]
    fn clock(&self) -> u64 {
        let clock = PROCESS.clock.load(Ordering::Relaxed);
        // SAFETY: null only after the recorder gave up; else the session's clock, which is never unmapped.
        unsafe { clock.as_ref() }.map_or(CLOCK_STOPPED, |clock| clock.load(Ordering::Acquire))
    }

    /// Notes a clock reading in the ring if it is news. Returns whether events are recorded at the moment.
    #[inline(always)]
    fn at(&mut self, clock: u64) -> bool {
        clock == self.thread.clock || self.clock_moved(clock)
    }

    #[cold]
    #[inline(never)]
    fn clock_moved(&mut self, clock: u64) -> bool {
        if clock & (CLOCK_PAUSED | CLOCK_STOPPED) != 0 {
            return false;
        }
        let thread = &mut *self.thread;
        thread.clock = clock;
        thread.large_budget = large::BUDGET;
        let generation = PROCESS.generation.load(Ordering::Acquire);
        if generation != thread.generation {
            thread.generation = generation;
            thread.stack.forget();
        }
        thread.ring.push(encode(Event::Epoch(Epoch(clock & CLOCK_EPOCH_MASK))));
        true
    }

    #[inline(always)]
    fn stack(&mut self, entry: &Entry) -> StackId {
        let id = self.thread.stack.capture(entry);
        if PROCESS.verify_countdown.load(Ordering::Relaxed) != 0 {
            self.verify(entry);
        }
        id
    }

    #[cold]
    #[inline(never)]
    fn verify(&mut self, entry: &Entry) {
        if PROCESS.verify_countdown.fetch_sub(1, Ordering::Relaxed) == 1 {
            let every = PROCESS.session().map_or(0, |session| session.verify_every.load(Ordering::Relaxed));
            PROCESS.verify_countdown.store(every, Ordering::Relaxed);
            self.thread.stack.verify(entry);
        }
    }

    /// Tells how long the call took, if that was measured.
    #[inline(always)]
    fn tell_time(&mut self) {
        // SAFETY: this thread's own word, read and written as a whole; no reference to it lives. A signal handler that
        // comes in between leaves a measurement of its own, which is dropped here.
        let ticks = unsafe { core::mem::replace(&mut *(&raw mut (*self.words).ticks), 0) };
        if ticks != 0 {
            self.push(Event::Timed { ticks });
        }
    }

    #[inline(always)]
    fn push(&mut self, event: Event) {
        self.thread.ring.push(encode(event));
    }
}

/// Describes a block that was handed out, or the refusal.
#[inline(always)]
fn handed_out(block: *mut u8, size: usize, align: usize, function: AllocFunction, entry: &Entry) {
    let Some(mut turn) = begin(entry) else { return forget_time() };
    let clock = turn.clock();
    if !turn.at(clock) {
        return forget_time();
    }
    let stack = turn.stack(entry);
    if block.is_null() {
        turn.push(Event::Failed { size: size as u64, function, stack });
        return forget_time();
    }
    large::allocated(block as usize, size);
    let align_log2 = align.checked_ilog2().unwrap_or(0) as u8;
    let address = BlockAddress(block as u64);
    turn.push(Event::Alloc { address, size: size as u64, align_log2, function, stack });
    turn.tell_time();
}

/// Describes a block that is about to be given back.
#[inline(always)]
fn given_back(block: *mut u8, entry: &Entry) {
    let Some(mut turn) = begin(entry) else { return };
    let clock = turn.clock();
    if !turn.at(clock) {
        return;
    }
    let touched = large::freed(block as usize, &mut turn.thread.large_budget);
    turn.push(Event::Free { address: BlockAddress(block as u64), touched });
}

/// Drops what was measured of a call that is not told: the next one to be told would be taken for it.
#[cold]
fn forget_time() {
    // SAFETY: this thread's own word, written as a whole; no reference to it lives.
    unsafe { (*tls::words()).ticks = 0 };
}

/// Tells how long it took to give a block back, if that was measured.
#[inline(always)]
fn tell_time(entry: &Entry) {
    // SAFETY: this thread's own word, read as a whole; no reference to it lives.
    if unsafe { (*tls::words()).ticks } != 0 {
        tell_time_now(entry);
    }
}

#[cold]
#[inline(never)]
fn tell_time_now(entry: &Entry) {
    let Some(mut turn) = begin(entry) else { return forget_time() };
    let clock = turn.clock();
    if turn.at(clock) {
        turn.tell_time();
    } else {
        forget_time();
    }
}

/// Calls into the real allocator. One that is not glibc may call the interposed functions itself; what arrives
/// meanwhile on this thread is its own business and not recorded.
#[inline(always)]
fn in_real<T>(entry: &Entry, call: impl FnOnce() -> T) -> T {
    let words = tls::words();
    let watch = Stopwatch::start(words);
    if !real::may_reenter() {
        let result = call();
        watch.stop(words);
        return result;
    }
    // SAFETY: this thread's own words; no reference to them lives.
    let before = unsafe { (*words).guard };
    // The recorder's own guard stays as it is, and so does one from further out. One from further in was left behind by
    // an exception, and is put right by the next event.
    if before == guard::INTERNAL || before >= entry.stack_pointer {
        return call();
    }
    // SAFETY: as above.
    unsafe { (*words).guard = entry.stack_pointer | guard::REAL };
    let result = call();
    // SAFETY: as above.
    unsafe { (*words).guard = 0 };
    watch.stop(words);
    result
}

macro_rules! entry {
    ($sp:ident, $fp:ident) => {
        Entry { stack_pointer: $sp, frame_pointer: $fp }
    };
}

/// The real function, or what `$early` says while it is not known.
macro_rules! real_or {
    ($name:ident, $early:expr) => {
        match real::$name() {
            Some(function) => function,
            None if real::resolve() => match real::$name() {
                Some(function) => function,
                None => return $early,
            },
            None => return $early,
        }
    };
}

/// `malloc`.
///
/// # Safety
/// As the C function; `sp` and `fp` are the caller's, as the entry point found them. So for all the following.
pub unsafe extern "C" fn malloc(size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(malloc, bootstrap::allocate(size, 16));
    // SAFETY: the caller's call.
    let block = in_real(&entry!(sp, fp), || unsafe { real(size) });
    handed_out(block, size, 0, AllocFunction::Malloc, &entry!(sp, fp));
    block
}

/// `calloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn calloc(count: usize, size: usize, sp: usize, fp: usize) -> *mut u8 {
    let bytes = count.saturating_mul(size);
    let real = real_or!(calloc, bootstrap::allocate(bytes, 16));
    // SAFETY: the caller's call.
    let block = in_real(&entry!(sp, fp), || unsafe { real(count, size) });
    handed_out(block, bytes, 0, AllocFunction::Calloc, &entry!(sp, fp));
    block
}

/// `free`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn free(block: *mut u8, sp: usize, fp: usize) {
    if block.is_null() || bootstrap::owns(block) {
        return;
    }
    if real::free().is_none() {
        // While the real functions are being looked up there is nothing to free that could be freed.
        real::resolve();
    }
    let Some(real) = real::free() else { return };
    given_back(block, &entry!(sp, fp));
    // SAFETY: the caller's call.
    in_real(&entry!(sp, fp), || unsafe { real(block) });
    tell_time(&entry!(sp, fp));
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

/// An `operator new` that does not go through `malloc`.
pub(crate) fn describe_new(
    entry: &Entry,
    size: usize,
    align: usize,
    function: AllocFunction,
    real: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let block = in_real(entry, real);
    handed_out(block, size, align, function, entry);
    block
}

/// An `operator delete` that does not go through `free`.
pub(crate) fn describe_delete(entry: &Entry, block: *mut u8, real: impl FnOnce()) {
    if block.is_null() || bootstrap::owns(block) {
        return;
    }
    given_back(block, entry);
    in_real(entry, real);
    tell_time(entry);
}

/// `realloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn realloc(block: *mut u8, size: usize, sp: usize, fp: usize) -> *mut u8 {
    let entry = entry!(sp, fp);
    if bootstrap::owns(block) {
        // SAFETY: a block of the bootstrap arena, whose size is known.
        return unsafe { move_from_bootstrap(block, size, &entry) };
    }
    let real = real_or!(realloc, bootstrap::allocate(size, 16));
    if block.is_null() {
        // SAFETY: the caller's call.
        let new = in_real(&entry!(sp, fp), || unsafe { real(block, size) });
        handed_out(new, size, 0, AllocFunction::Realloc, &entry);
        return new;
    }
    // What the old block touched, and when it was given up, has to be known before the real function has it.
    let before = begin(&entry).map(|turn| {
        let touched = large::freed(block as usize, &mut turn.thread.large_budget);
        (turn.clock().max(turn.thread.clock), touched)
    });
    // SAFETY: the caller's call.
    let new = in_real(&entry!(sp, fp), || unsafe { real(block, size) });
    match before {
        Some((clock, touched)) => resized(block, new, size, clock, touched, &entry),
        None => forget_time(),
    }
    new
}

#[inline(always)]
fn resized(old: *mut u8, new: *mut u8, size: usize, before: u64, touched: Option<u32>, entry: &Entry) {
    let Some(mut turn) = begin(entry) else { return forget_time() };
    if !turn.at(before.max(turn.thread.clock)) {
        return forget_time();
    }
    let (old, size) = (BlockAddress(old as u64), size as u64);
    let stack = turn.stack(entry);
    if new.is_null() {
        // glibc frees a block that is resized to nothing; any other null is a refusal that leaves it alone.
        turn.push(match size {
            0 => Event::Free { address: old, touched },
            _ => Event::Failed { size, function: AllocFunction::Realloc, stack },
        });
        return forget_time();
    }
    large::allocated(new as usize, size as usize);
    let new = BlockAddress(new as u64);
    let after = turn.clock();
    if after == turn.thread.clock {
        turn.push(Event::Realloc { old, new, size, stack, touched });
        turn.tell_time();
        return;
    }
    turn.push(Event::ReallocBegin { old, touched });
    // If recording was paused in between, the second half still belongs to the first.
    turn.at(after);
    turn.push(Event::ReallocEnd { new, size, stack });
    turn.tell_time();
}

/// # Safety
/// `block` is of the bootstrap arena.
#[cold]
unsafe fn move_from_bootstrap(block: *mut u8, size: usize, entry: &Entry) -> *mut u8 {
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
    // SAFETY: the caller's call.
    let error = in_real(&entry!(sp, fp), || unsafe { real(out, align, size) });
    // SAFETY: on success the real function has written the block there.
    let block = if error == 0 { unsafe { out.read() } } else { core::ptr::null_mut() };
    handed_out(block, size, align, AllocFunction::PosixMemalign, &entry!(sp, fp));
    error
}

/// `aligned_alloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn aligned_alloc(align: usize, size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(aligned_alloc, bootstrap::allocate(size, align));
    // SAFETY: the caller's call.
    let block = in_real(&entry!(sp, fp), || unsafe { real(align, size) });
    handed_out(block, size, align, AllocFunction::AlignedAlloc, &entry!(sp, fp));
    block
}

/// `memalign`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn memalign(align: usize, size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(memalign, bootstrap::allocate(size, align));
    // SAFETY: the caller's call.
    let block = in_real(&entry!(sp, fp), || unsafe { real(align, size) });
    handed_out(block, size, align, AllocFunction::Memalign, &entry!(sp, fp));
    block
}

/// `valloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn valloc(size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(valloc, bootstrap::allocate(size, sys::PAGE));
    // SAFETY: the caller's call.
    let block = in_real(&entry!(sp, fp), || unsafe { real(size) });
    handed_out(block, size, sys::PAGE, AllocFunction::Valloc, &entry!(sp, fp));
    block
}

/// `pvalloc`.
///
/// # Safety
/// See [`malloc`].
pub unsafe extern "C" fn pvalloc(size: usize, sp: usize, fp: usize) -> *mut u8 {
    let real = real_or!(pvalloc, bootstrap::allocate(size, sys::PAGE));
    // SAFETY: the caller's call.
    let block = in_real(&entry!(sp, fp), || unsafe { real(size) });
    handed_out(block, size, sys::PAGE, AllocFunction::Pvalloc, &entry!(sp, fp));
    block
}

/// `pthread_create`: notes which thread was started from where.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    start: *const c_void,
    argument: *mut c_void,
) -> c_int {
    const EAGAIN: c_int = 11;
    let real = real_or!(pthread_create, EAGAIN);
    // SAFETY: the caller's call.
    let error = unsafe { real(thread, attributes, start, argument) };
    if error == 0 {
        // SAFETY: the real function has stored the handle there.
        let handle = unsafe { thread.read_volatile() };
        note(Event::ThreadCreate { handle: handle as u64 });
    }
    error
}

/// `pthread_join`: notes that all of the other thread's events were before.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int {
    const EINVAL: c_int = 22;
    let real = real_or!(pthread_join, EINVAL);
    // SAFETY: the caller's call.
    let error = unsafe { real(thread, result) };
    if error == 0 {
        note(Event::ThreadJoin { handle: thread as u64 });
    }
    error
}

/// `pthread_setname_np`: a thread may be gone before the collector asks the kernel for its name.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn pthread_setname_np(thread: usize, name: *const c_char) -> c_int {
    const ENOSYS: c_int = 38;
    let real = real_or!(pthread_setname_np, ENOSYS);
    // SAFETY: the caller's call.
    let error = unsafe { real(thread, name) };
    if error == 0 && !name.is_null() {
        // SAFETY: a C string, as the real function has just accepted it.
        let name = unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes();
        crate::thread::rename(thread as u64, name);
    }
    error
}

/// `prctl`, with which a thread may name itself.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    const PR_SET_NAME: c_int = 15;
    let real = real_or!(prctl, -1);
    // SAFETY: the caller's call.
    let result = unsafe { real(option, a, b, c, d) };
    if option == PR_SET_NAME && result == 0 {
        let name = sys::thread_name();
        let bytes = name.map(u64::to_le_bytes);
        crate::thread::rename(tls::thread_pointer() as u64, bytes.as_flattened());
    }
    result
}

/// Writes an event without a stack.
fn note(event: Event) {
    let here = 0usize;
    let entry = Entry { stack_pointer: &raw const here as usize, frame_pointer: 0 };
    let Some(mut turn) = begin(&entry) else { return };
    let clock = turn.clock();
    if turn.at(clock) {
        turn.push(event);
    }
}

/// `dlclose`: the addresses of what is unloaded may soon mean something else.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    let real = real_or!(dlclose, -1);
    // SAFETY: the caller's call.
    let error = unsafe { real(handle) };
    let words = tls::words();
    // SAFETY: this thread's own words.
    let idle = unsafe { (*words).guard } == 0;
    if error == 0 && idle && PROCESS.header().is_some() {
        // SAFETY: as above.
        unsafe { (*words).guard = guard::INTERNAL };
        modules::notice_unloaded();
        // SAFETY: as above.
        unsafe { (*words).guard = 0 };
    }
    error
}
