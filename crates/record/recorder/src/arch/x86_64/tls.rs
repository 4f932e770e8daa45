//! The recorder's thread-local words.
//!
//! An image that is written into a process from outside has none ([`crate::thread_table`]). Otherwise they are made by hand in the *initial-exec* model: the offset from the thread pointer is a constant that the loader
//! fills in, so reading them is one instruction and never calls `__tls_get_addr`, which may allocate. Nothing in them
//! has a destructor, so they work from a thread's first instruction to its last.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwise_trace::sampling::countdown::Countdown;

#[cfg(not(feature = "image"))]
core::arch::global_asm!(
    ".pushsection .tbss.heapwise,\"awT\",@nobits",
    ".balign 16",
    // The recorder may consist of several object files, all of one executable or library.
    ".globl heapwise_thread_words",
    ".hidden heapwise_thread_words",
    ".type heapwise_thread_words,@object",
    ".size heapwise_thread_words,{size}",
    "heapwise_thread_words:",
    ".zero {size}",
    ".popsection",
    size = const size_of::<ThreadWords>(),
);

/// The words of one thread. All zeroes are those of one that the recorder does not know.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadWords {
    /// The thread's [`crate::thread::ThreadState`], null before its first event.
    pub state: *mut crate::thread::ThreadState,
    /// See [`crate::guard`].
    pub guard: usize,
    /// Which one of the following calls of the real allocator is measured, counted from 1; 0 for none.
    pub measure_in: u32,
    /// What was measured and not yet recorded, in ticks; 0 for nothing.
    pub ticks: u32,
    /// Non-zero in a thread that is killed at system calls; see [`crate::confined`].
    pub strict: u32,
    /// Functions of the program that hooks have called without the guard, and that have not returned; see [`waiting`].
    pub waits: u32,
    /// Decides which blocks are recorded, where only a sample is.
    pub countdown: Countdown,
    /// See [`crate::nested`].
    pub nested: crate::nested::Nested,
}

/// Where the calling thread's words are. They are looked up once for a call that is described: an image has to search for them.
pub type Words = *mut ThreadWords;

#[cfg(feature = "image")]
pub(crate) use crate::thread_table::known_words;
#[cfg(feature = "image")]
pub use crate::thread_table::words;

/// The calling thread's words. Valid as long as the thread runs.
#[cfg(not(feature = "image"))]
#[inline(always)]
pub fn words() -> Words {
    let words: Words;
    // SAFETY: reads the thread pointer, which the ABI keeps at fs:0, and the loader's constant from the global offset
    // table; no memory is written. The result points into this thread's static TLS block.
    unsafe {
        asm!(
            "mov {words}, qword ptr fs:[0]",
            "add {words}, qword ptr [rip + heapwise_thread_words@GOTTPOFF]",
            words = out(reg) words,
            options(nostack, readonly, pure),
        );
    }
    words
}

/// The same, if they need not be searched for.
#[cfg(not(feature = "image"))]
#[inline(always)]
pub(crate) fn known_words() -> Option<Words> {
    Some(words())
}

/// Calls a function of the program that is not one of an allocator at work: it may be a thread's end that is waited for, or may be left
/// alone. That a frame of the recorder is below it has to be known when the recorder is to leave the process.
#[inline(always)]
pub(crate) fn waiting<T>(words: Words, call: impl FnOnce() -> T) -> T {
    // SAFETY: this thread's own word, read and written as a whole; no reference to it lives. A signal handler leaves it as it found it.
    unsafe { (*words).waits = (*words).waits.wrapping_add(1) };
    let result = call();
    // SAFETY: as above.
    unsafe { (*words).waits = (*words).waits.wrapping_sub(1) };
    result
}

/// Works on a copy of a thread's countdown, and puts that in its place. `words` are the calling thread's.
#[inline(always)]
pub(crate) fn with_countdown<T>(words: Words, work: impl FnOnce(&mut Countdown) -> T) -> T {
    // SAFETY: valid as long as the thread runs; this thread's own words, copied as a whole, and no reference to them lives.
    let mut countdown = unsafe { (&raw const (*words).countdown).read() };
    let result = work(&mut countdown);
    // SAFETY: as above. What a signal handler has counted down in between is undone: its blocks count as not seen.
    unsafe { (&raw mut (*words).countdown).write(countdown) };
    result
}

impl ThreadWords {
    /// Those of a thread that the recorder does not know.
    pub const fn new() -> Self {
        Self {
            state: core::ptr::null_mut(),
            guard: 0,
            measure_in: 0,
            ticks: 0,
            strict: 0,
            waits: 0,
            countdown: Countdown::new(),
            nested: crate::nested::Nested::none(),
        }
    }
}

impl Default for ThreadWords {
    fn default() -> Self {
        Self::new()
    }
}

/// The thread pointer, which is also `pthread_self`.
#[inline(always)]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: fs:0 holds the thread pointer by the ABI; nothing is written.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, readonly, pure, preserves_flags))
    };
    pointer
}

/// Four bytes of what is behind the thread pointer.
///
/// # Safety
/// They are in the calling thread's block.
#[inline(always)]
pub(crate) unsafe fn behind_thread_pointer(at: usize) -> u32 {
    let word: u32;
    // SAFETY: the caller's promise; nothing is written.
    unsafe {
        asm!("mov {:e}, dword ptr fs:[{}]", out(reg) word, in(reg) at, options(nostack, readonly, preserves_flags))
    };
    word
}

/// Non-zero once a thread was in strict mode. Before that no thread's word is looked at: threads of a program that consists of Go alone
/// have none.
static STRICT: AtomicU32 = AtomicU32::new(0);

/// Sets whether the calling thread is in strict mode.
pub fn set_strict(strict: bool) {
    if strict {
        STRICT.store(1, Ordering::Relaxed);
    }
    // SAFETY: this thread's own word, written as a whole; no reference to it lives.
    unsafe { (*words()).strict = u32::from(strict) };
}

/// Whether the calling thread is in strict mode, and would be killed at a system call.
#[inline]
pub fn is_strict() -> bool {
    // SAFETY: this thread's own word, read as a whole; no reference to it lives.
    STRICT.load(Ordering::Relaxed) != 0 && unsafe { (*words()).strict != 0 }
}
