//! rpmalloc under the names of the C library's functions.
//!
//! It has to be called when a thread begins and ends, and leaves sizes and alignments unchecked. Both is done here.

#![cfg_attr(panic = "abort", no_std)]

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU32, Ordering};
use entry::{Statistics, Text, too_much};

// The library is in a folder that cargo passes on from the build of rpmalloc-sys.
#[link(name = "rpmalloc", kind = "static")]
unsafe extern "C" {
    fn rpmalloc(size: usize) -> *mut c_void;
    fn rpcalloc(count: usize, size: usize) -> *mut c_void;
    fn rprealloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn rpfree(block: *mut c_void);
    fn rpaligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn rpmalloc_usable_size(block: *mut c_void) -> usize;
    fn rpmalloc_initialize() -> c_int;
    fn rpmalloc_is_thread_initialized() -> c_int;
    fn rpmalloc_thread_finalize(release_caches: c_int);
}

#[link(name = "pthread")]
unsafe extern "C" {
    fn pthread_key_create(key: *mut u32, at_end: extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

/// The number of the C library's that says when a thread ends, plus one.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Gives this thread a heap if it has none yet.
#[inline]
fn begin() {
    // SAFETY: reads a variable of the thread.
    if unsafe { rpmalloc_is_thread_initialized() } == 0 {
        begin_thread();
    }
}

#[cold]
fn begin_thread() {
    // SAFETY: initialises all once and this thread every time. The process's first call comes before its second thread, which
    // cannot be made without one. What the C library allocates for a value of a thread finds the thread with its heap.
    unsafe {
        rpmalloc_initialize();
        let mut key = KEY.load(Ordering::Relaxed);
        if key == 0 {
            if pthread_key_create(&raw mut key, end_thread) != 0 {
                return;
            }
            key += 1;
            KEY.store(key, Ordering::Relaxed);
        }
        pthread_setspecific(key - 1, (&raw const KEY).cast());
    }
}

/// Leaves the thread's heap to threads that begin later.
extern "C" fn end_thread(_: *mut c_void) {
    // SAFETY: of this thread's own heap. Should it allocate once more, it begins again.
    unsafe { rpmalloc_thread_finalize(1) };
}

/// Beyond this, its own sums of sizes could go over the end of numbers.
const MOST: usize = isize::MAX as usize / 2;
/// Its spans: a block that is aligned so could not be found again when it is freed.
const SPAN: usize = 64 << 10;
const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

/// Not called `allocate`, for a function that the entry points define has that name beside the path to this one.
unsafe extern "C" fn sized(size: usize) -> *mut c_void {
    begin();
    // SAFETY: the thread has a heap.
    if size < MOST { or_errno(unsafe { rpmalloc(size) }) } else { too_much() }
}

unsafe extern "C" fn zeroed(count: usize, size: usize) -> *mut c_void {
    begin();
    match count.checked_mul(size) {
        // SAFETY: the thread has a heap.
        Some(0..MOST) => or_errno(unsafe { rpcalloc(count, size) }),
        _ => too_much(),
    }
}

unsafe extern "C" fn resize(block: *mut c_void, size: usize) -> *mut c_void {
    begin();
    // SAFETY: the block is the allocator's, or null; the thread has a heap.
    if size < MOST { or_errno(unsafe { rprealloc(block, size) }) } else { too_much() }
}

unsafe extern "C" fn aligned(alignment: usize, size: usize) -> *mut c_void {
    begin();
    if !alignment.is_power_of_two() || alignment >= SPAN || size >= MOST {
        return too_much();
    }
    // SAFETY: the thread has a heap, and the alignment is one that it can have.
    or_errno(unsafe { rpaligned_alloc(alignment, size) })
}

unsafe extern "C" fn posix_aligned(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return EINVAL;
    }
    // SAFETY: passed on as it came.
    let found = unsafe { aligned(alignment, size) };
    if found.is_null() {
        return ENOMEM;
    }
    // SAFETY: the caller has a pointer there.
    unsafe { block.write(found) };
    0
}

/// It leaves errno to the system call that failed.
#[inline]
fn or_errno(block: *mut c_void) -> *mut c_void {
    if block.is_null() { too_much() } else { block }
}

entry::entry_points! {
    malloc: sized,
    calloc: zeroed,
    realloc: resize,
    free: rpfree,
    aligned_alloc: aligned,
    posix_memalign: posix_aligned,
    malloc_usable_size: rpmalloc_usable_size,
}

entry::about! {
    name: c"rpmalloc",
    version: version,
    statistics: statistics,
    setting: setting,
    purge: purge,
}

/// The library does not tell its own; Cargo.toml asks for exactly this one of its crate.
fn version() -> *const c_char {
    c"1.4.3".as_ptr()
}

/// It counts only where each call pays for it.
fn statistics() -> Option<Statistics> {
    None
}

/// It has none but those of its build.
fn setting(_: &CStr, _: &mut Text) -> Option<()> {
    None
}

/// It gives up what its caches do not take, and has no function for it.
fn purge() -> bool {
    false
}
