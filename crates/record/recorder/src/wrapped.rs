//! The recorder as a part of a program, behind a global allocator that the program has wrapped.
//!
//! Nothing is interposed: the wrapper calls the functions here, around its calls of the inner allocator. Stacks begin at the
//! wrapper. This also records programs that are linked statically or bring their own allocator.
//!
//! A dynamic program of this kind has the preload library in it, too: its children may need it. The wrapper announces that by a
//! *note* in the executable, and the preload library leaves the recording to it, if both are of the same version.

use crate::arch::entry::Entry;
use crate::arch::{tls, weak};
use crate::describe::Resizing;
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
            real::set_malloc(malloc_below());
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

/// The `malloc` that serves this program: what it is linked with, or what the preload library stands in front of.
fn malloc_below() -> *const c_void {
    unsafe extern "C" {
        fn malloc(size: usize) -> *mut c_void;
    }
    let found = preload_function(c"heapwise_real_malloc");
    if found.is_null() {
        return malloc as *const c_void;
    }
    // SAFETY: the preload library's function of that name, which has this type.
    let real_malloc =
        unsafe { core::mem::transmute::<*const c_void, unsafe extern "C" fn() -> *const c_void>(found) };
    // SAFETY: it only reads an address.
    unsafe { real_malloc() }
}

/// What `malloc` aligns every block to.
const MIN_ALIGN: usize = 16;

macro_rules! entry {
    ($sp:ident, $fp:ident) => {
        Entry { stack_pointer: $sp, frame_pointer: $fp }
    };
}

unsafe extern "C" fn describe_allocation(
    block: *mut u8,
    size: usize,
    align: usize,
    function: usize,
    sp: usize,
    fp: usize,
) {
    const ZEROED: usize = AllocFunction::Calloc as usize;
    // As in Rust's own allocator: an alignment that every block has need not be requested.
    let (function, align) = match (function, align) {
        (_, align) if align > MIN_ALIGN => (AllocFunction::PosixMemalign, align),
        (ZEROED, _) => (AllocFunction::Calloc, 0),
        _ => (AllocFunction::Malloc, 0),
    };
    describe::handed_out(tls::words(), block, size, align, function, &entry!(sp, fp));
}

unsafe extern "C" fn describe_deallocation(block: *mut u8, sp: usize, fp: usize) {
    describe::freed(tls::words(), block, &entry!(sp, fp));
}

unsafe extern "C" fn describe_time(sp: usize, fp: usize) {
    describe::tell_time(tls::words(), &entry!(sp, fp));
}

unsafe extern "C" fn describe_resizing(block: *mut u8, out: *mut Resizing, sp: usize, fp: usize) {
    let before = describe::resizing(tls::words(), block, &entry!(sp, fp));
    // SAFETY: the caller's own variable.
    unsafe { out.write(before) };
}

unsafe extern "C" fn describe_reallocation(
    old: *mut u8,
    new: *mut u8,
    size: usize,
    begun: *const Resizing,
    sp: usize,
    fp: usize,
) {
    // SAFETY: the caller's own variable.
    let (before, words) = (unsafe { begun.read() }, tls::words());
    describe::resized(AllocatorNumber::BY_NAME, words, (old, new), size, before, &entry!(sp, fp));
}

/// Functions that add where they were called from to their arguments.
mod entries {
    use super::{
        Resizing, describe_allocation, describe_deallocation, describe_reallocation, describe_resizing,
        describe_time,
    };
    use crate::jump_with_entry;

    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn allocation(block: *mut u8, size: usize, align: usize, function: usize) {
        jump_with_entry!("r8", "r9", describe_allocation)
    }

    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn deallocation(block: *mut u8) {
        jump_with_entry!("rsi", "rdx", describe_deallocation)
    }

    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn time() {
        jump_with_entry!("rdi", "rsi", describe_time)
    }

    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn resizing(block: *mut u8, out: *mut Resizing) {
        jump_with_entry!("rdx", "rcx", describe_resizing)
    }

    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn reallocation(
        old: *mut u8,
        new: *mut u8,
        size: usize,
        begun: *const Resizing,
    ) {
        jump_with_entry!("r8", "r9", describe_reallocation)
    }
}

// The functions below hand pointers on without looking at what they point to.

/// Calls the inner allocator for a new block, and describes the call.
#[inline(always)]
pub fn allocation(size: usize, align: usize, zeroed: bool, call: impl FnOnce() -> *mut u8) -> *mut u8 {
    let block = timed(call);
    let function = if zeroed { AllocFunction::Calloc } else { AllocFunction::Malloc };
    // SAFETY: any arguments will do; the block is not touched.
    unsafe { entries::allocation(block, size, align, function as usize) };
    block
}

/// Describes that a block is freed, and calls the inner allocator.
#[inline(always)]
#[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the block's address is written down, and nothing else")]
pub fn deallocation(block: *mut u8, call: impl FnOnce()) {
    // SAFETY: any argument will do; the block is not touched.
    unsafe { entries::deallocation(block) };
    timed(call);
    let words = tls::words();
    // SAFETY: this thread's own word, read as a whole; no reference to it lives.
    if unsafe { (*words).ticks } != 0 {
        // SAFETY: it has no arguments of ours.
        unsafe { entries::time() };
    }
}

/// Calls the inner allocator to resize a block, and describes the call.
#[inline(always)]
#[expect(clippy::not_unsafe_ptr_arg_deref, reason = "the block's address is written down, and nothing else")]
pub fn reallocation(block: *mut u8, size: usize, call: impl FnOnce() -> *mut u8) -> *mut u8 {
    let mut begun = Resizing::default();
    // SAFETY: the second argument is a variable of ours; the block is not touched.
    unsafe { entries::resizing(block, &raw mut begun) };
    let new = timed(call);
    // SAFETY: as above.
    unsafe { entries::reallocation(block, new, size, &raw const begun) };
    new
}

#[inline(always)]
fn timed<T>(call: impl FnOnce() -> T) -> T {
    let words = tls::words();
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
