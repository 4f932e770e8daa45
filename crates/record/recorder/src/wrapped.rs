//! The recorder as a part of a program, behind a global allocator that the program has wrapped.
//!
//! Nothing is interposed: the wrapper calls the functions here, around its calls of the inner allocator. Stacks begin
//! where the wrapper was called from. This also records programs that are linked statically or bring their own allocator.
//!
//! A dynamic program of this kind has the preload library in it, too: its children may need it. The wrapper announces that by a
//! *note* in the executable, and the preload library leaves the recording to it, if both are of the same version.

use crate::arch::entry::Entry;
use crate::arch::tls::{self, Words};
use crate::arch::weak;
use crate::forward::Forward;
use crate::process::PROCESS;
use crate::session::SessionPath;
use crate::stopwatch::Stopwatch;
use crate::sys::maps::Code;
use crate::{describe, lifecycle, marks, placement, real, sandbox, sys};
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, MarkKind};
pub use heapwise_trace::live::layout::LIVE_VERSION;

/// Runs when the process ends by itself, after the destructors of the program.
#[used]
#[unsafe(link_section = ".fini_array")]
static EXIT_HANDSHAKE: extern "C" fn() = {
    extern "C" fn exit_handshake() {
        if placement::is_in_program() {
            let end = AT_END.load(Ordering::Acquire);
            if end.is_null() {
                return crate::exit_handshake::say();
            }
            // SAFETY: stored by `at_end`, of this type.
            let end = unsafe { core::mem::transmute::<*mut c_void, fn()>(end) };
            end();
        }
    }
    exit_handshake
};

/// What to do at the end of the process, instead of the exit handshake.
static AT_END: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Has something done when the process ends by itself.
pub fn at_end(end: fn()) {
    AT_END.store(end as *mut c_void, Ordering::Release);
}

/// What is below the wrapper.
#[derive(Clone, Copy, Debug)]
pub enum Inner {
    /// The C library's `malloc`, or what takes its place.
    Malloc,
    /// Another allocator, by its name.
    Named(&'static CStr),
}

/// Whether this process is to be recorded through the wrapper. To be asked once, at the wrapper's first call.
pub fn begin(inner: Inner) -> bool {
    // A shared library with its own wrapper is not the program: two recorders of one process would be two processes.
    if SessionPath::from_environment().is_none() || is_recorded_by_preload() || !is_in_executable() {
        return false;
    }
    take_over(inner);
    let forward = preload_function(c"heapwise_forward");
    if !forward.is_null() {
        // SAFETY: the preload library's function of that name, which has this type.
        let forward =
            unsafe { core::mem::transmute::<*const c_void, extern "C" fn(*const Forward)>(forward) };
        forward(&raw const FORWARD);
    }
    true
}

/// What the preload library hands on to this recorder.
static FORWARD: Forward = Forward {
    thread_created: lifecycle::thread_created,
    thread_joined: lifecycle::thread_joined,
    thread_named: lifecycle::thread_named,
    unloaded: lifecycle::unloaded,
    confine: sandbox::confine,
    mark: marks::mark_from_c,
    is_recording: marks::is_recording_from_c,
};

/// Whether this recorder is a part of the executable, and not of a library that it has loaded.
fn is_in_executable() -> bool {
    let Some(headers) = sys::program_headers() else { return false };
    let own = is_in_executable as *const () as usize;
    let found = sys::maps::code_at(own, &mut []);
    matches!(found, Some((Code::Object { start, end }, _)) if (start..end).contains(&headers))
}

/// Joins a session that this program has made itself, by the path of its memory. Returns whether it did: a process can do so
/// once.
pub fn join(path: &[u8], inner: Inner) -> bool {
    if is_taken() || !PROCESS.set_session_path(path) {
        return false;
    }
    take_over(inner);
    let _aside = NoRecordGuard::begin();
    PROCESS.attach()
}

/// Whether the environment can be trusted: it was set with the rights that this process has.
pub fn may_trust_environment() -> bool {
    !sys::is_privileged()
}

/// Whether this process is or was recorded, by any recorder.
pub fn is_taken() -> bool {
    placement::is_in_program() || is_recorded_by_preload()
}

/// Lets the collector take a last snapshot of this process's pages, and waits until it has.
pub fn exit_handshake() {
    crate::exit_handshake::say();
}

fn take_over(inner: Inner) {
    placement::become_part_of_the_program();
    real::find_loader();
    match inner {
        Inner::Malloc => {
            real::name_allocator(c"malloc");
            find_malloc();
        }
        Inner::Named(name) => real::name_allocator(name),
    }
}

/// A function of the preload library, if that is in this process; else null.
fn preload_function(name: &CStr) -> *const c_void {
    let dlsym = weak::dlsym();
    if dlsym == 0 {
        return core::ptr::null();
    }
    const RTLD_DEFAULT: *mut c_void = core::ptr::null_mut();
    // SAFETY: the C library's function of that name, which has this type.
    let dlsym = unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>(
            dlsym,
        )
    };
    // SAFETY: the name is a C string.
    unsafe { dlsym(RTLD_DEFAULT, name.as_ptr()) }
}

/// Whether the preload library records this process. It has seen to it before the first call of the wrapper.
fn is_recorded_by_preload() -> bool {
    let found = preload_function(c"heapwise_has_joined");
    if found.is_null() {
        return false;
    }
    // SAFETY: the preload library's function of that name, which has this type.
    let has_joined = unsafe { core::mem::transmute::<*const c_void, unsafe extern "C" fn() -> u32>(found) };
    // SAFETY: it only reads the recorder's state.
    unsafe { has_joined() != 0 }
}

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
}

static MALLOC_BEHIND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static FREE_BEHIND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Finds out what serves this program: what it is linked with, or what is behind that if it is the preload library's.
fn find_malloc() {
    let found = [malloc as *const c_void, free as *const c_void];
    let malloc = serving(c"heapwise_serving_malloc", found[0]);
    let free = serving(c"heapwise_serving_free", found[1]);
    real::set_malloc(malloc);
    if malloc != found[0] && free != found[1] && !malloc.is_null() && !free.is_null() {
        MALLOC_BEHIND.store(malloc.cast_mut(), Ordering::Relaxed);
        FREE_BEHIND.store(free.cast_mut(), Ordering::Relaxed);
    }
}

/// What serves in place of a function that this program found by its name, by a function of the preload library that is asked.
fn serving(asked: &CStr, found: *const c_void) -> *const c_void {
    let asked = preload_function(asked);
    if asked.is_null() {
        return found;
    }
    // SAFETY: a function of the preload library of that name, each of which has this type.
    let asked = unsafe {
        core::mem::transmute::<*const c_void, unsafe extern "C" fn(*const c_void) -> *const c_void>(asked)
    };
    // SAFETY: it only compares the address.
    unsafe { asked(found) }
}

/// What the preload library would hand a call of the program's `malloc` on to; `None` if that is not the preload library's. A block of
/// either may be freed by [`free_behind`] or the program's `free`: they end at the same function.
#[inline(always)]
pub fn malloc_behind() -> Option<unsafe extern "C" fn(usize) -> *mut u8> {
    let at = MALLOC_BEHIND.load(Ordering::Relaxed);
    // SAFETY: null, or the C function, which has this type and is never unloaded: the preload library, which is not either, calls it. An
    // `Option` of a function pointer is null for `None`.
    unsafe { core::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(usize) -> *mut u8>>(at) }
}

/// See [`malloc_behind`].
#[inline(always)]
pub fn free_behind() -> Option<unsafe extern "C" fn(*mut u8)> {
    let at = FREE_BEHIND.load(Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { core::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(*mut u8)>>(at) }
}

/// What `malloc` aligns every block to.
pub const MIN_ALIGN: usize = 16;

/// Where the wrapper was called from: the stack pointer and the frame pointer at its entry.
#[derive(Debug)]
pub struct Caller(Entry);

impl Caller {
    #[inline(always)]
    pub fn new(stack_pointer: usize, frame_pointer: usize) -> Self {
        Self(Entry { stack_pointer, frame_pointer })
    }
}

// The functions below hand pointers on without looking at what they point to.

/// Calls the inner allocator for a new block, and describes the call.
#[inline(always)]
pub fn allocation(
    size: usize,
    align: usize,
    zeroed: bool,
    caller: &Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let words = tls::words();
    if PROCESS.is_sampling() {
        return allocation_in_sample(size, align, zeroed, caller.0, call);
    }
    let block = timed(words, call);
    handed_out(words, block, (size, align), zeroed, caller.0);
    block
}

/// Describes a new block, for which it was decided whether it is passed over.
#[inline(always)]
fn handed_out(words: Words, block: *mut u8, (size, align): (usize, usize), zeroed: bool, entry: Entry) {
    // As in Rust's own allocator: an alignment that every block has need not be requested.
    if align > MIN_ALIGN {
        return handed_out_aligned(words, block, (size, align), entry);
    }
    let function = if zeroed { AllocFunction::Calloc } else { AllocFunction::Malloc };
    describe::handed_out_after_deciding(AllocatorNumber::BY_NAME, words, block, (size, 0), function, entry);
}

/// PERF: a separate function, so that the usual one has neither an alignment nor a function that is not always the same.
#[cold]
#[inline(never)]
fn handed_out_aligned(words: Words, block: *mut u8, sizes: (usize, usize), entry: Entry) {
    let function = AllocFunction::PosixMemalign;
    describe::handed_out_after_deciding(AllocatorNumber::BY_NAME, words, block, sizes, function, entry);
}

/// The same where there is a sample.
///
/// PERF: a separate function, or everything that is recorded would keep for afterwards that it is not passed over.
#[inline(never)]
fn allocation_in_sample(
    size: usize,
    align: usize,
    zeroed: bool,
    entry: Entry,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let words = tls::words();
    let is_passed_over = describe::passes_over(words, size);
    let block = timed(words, call);
    if is_passed_over {
        if !block.is_null() {
            return block;
        }
        // A refusal is always recorded, and none of the sample.
        describe::gives_back(words, size);
    }
    handed_out(words, block, (size, align), zeroed, entry);
    block
}

/// Describes that a block is freed, and calls the inner allocator.
#[inline(always)]
pub fn deallocation(block: *mut u8, caller: &Caller, call: impl FnOnce()) {
    let words = tls::words();
    describe::freed(words, block, caller.0);
    timed(words, call);
    describe::tell_time(words, caller.0);
}

/// Calls the inner allocator to resize a block, and describes the call.
#[inline(always)]
pub fn reallocation(block: *mut u8, size: usize, caller: &Caller, call: impl FnOnce() -> *mut u8) -> *mut u8 {
    let words = tls::words();
    let before = describe::resizing(words, block, caller.0);
    let new = timed(words, call);
    describe::resized(AllocatorNumber::BY_NAME, words, (block, new), size, before, caller.0);
    new
}

#[inline(always)]
fn timed<T>(words: Words, call: impl FnOnce() -> T) -> T {
    let watch = Stopwatch::start(words);
    let result = call();
    watch.stop(words);
    result
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Moment,
    /// A span of this thread begins.
    Begin,
    End,
}

impl Mark {
    fn kind(self) -> MarkKind {
        match self {
            Self::Moment => MarkKind::Point,
            Self::Begin => MarkKind::Begin,
            Self::End => MarkKind::End,
        }
    }
}

/// Marks this moment of the calling thread in the recording of this recorder.
pub fn mark(mark: Mark, name: &[u8]) {
    crate::marks::mark(mark.kind(), name);
}

/// The same in that of the preload library, if it is in this process.
pub fn mark_by_preload(mark: Mark, name: &[u8]) {
    /// 1 until the function was looked up.
    static FOUND: AtomicUsize = AtomicUsize::new(1);
    let mut found = FOUND.load(Ordering::Relaxed);
    if found == 1 {
        found = preload_function(c"heapwise_mark") as usize;
        FOUND.store(found, Ordering::Relaxed);
    }
    if found != 0 {
        // SAFETY: the preload library's function of that name, which has this type.
        let send =
            unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(u32, *const u8, usize)>(found) };
        // SAFETY: the name can be read.
        unsafe { send(mark.kind() as u32, name.as_ptr(), name.len()) };
    }
}

/// Keeps what this thread does from being recorded, until [`NoRecordGuard`] is dropped: for threads that work for heapwise.
#[derive(Debug)]
pub struct NoRecordGuard {
    before: usize,
    /// It belongs to its thread.
    _thread: core::marker::PhantomData<*mut ()>,
}

impl NoRecordGuard {
    pub fn begin() -> Self {
        let words = tls::words();
        // SAFETY: this thread's own word, exchanged as a whole; no reference to it lives.
        let before = unsafe { core::ptr::replace(&raw mut (*words).guard, crate::guard::INTERNAL) };
        Self { before, _thread: core::marker::PhantomData }
    }
}

impl Drop for NoRecordGuard {
    fn drop(&mut self) {
        // SAFETY: as in `begin`.
        unsafe { (*tls::words()).guard = self.before };
    }
}
