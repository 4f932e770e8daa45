//! The global allocator that passes every call on and can be watched.
//!
//! Most of the time nothing is counted, so that has to cost nothing: one relaxed load of a byte that hardly ever changes, and a
//! branch that is always the same. Everything else is behind that branch.

use crate::record::Caller;
#[cfg(feature = "serve")]
use crate::sampled;
use crate::state::{self, COUNTING, State};
use crate::{inner, record, tally};
use std::alloc::{GlobalAlloc, Layout, System};
use std::any::type_name;
use std::hint::cold_path;

/// A global allocator that passes every call on to another one and can be watched.
///
/// As long as nothing watches, a call costs one relaxed load more than it would without. What watches: an
/// [operation](crate::Session) or a [budget](crate::assert_allocations) counts, and `heapwise run` records.
///
/// Calls are passed on as what they are: `alloc_zeroed` may get fresh pages that are zero anyhow, and `realloc` may grow a
/// block where it is.
///
/// # Examples
///
/// Over the system's allocator, which Rust uses by default:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
/// # fn main() { assert_eq!(*Box::new(7), 7); }
/// ```
///
/// Over any other, in three lines: one in `Cargo.toml`, and two here.
///
/// `tikv-jemallocator = "0.7"`:
///
/// ```
/// # mod tikv_jemallocator { pub use std::alloc::System as Jemalloc; }
/// use tikv_jemallocator::Jemalloc;
///
/// #[global_allocator]
/// static ALLOCATOR: heapwise::Allocator<Jemalloc> = heapwise::Allocator::new(Jemalloc);
/// # fn main() { assert_eq!(*Box::new(7), 7); }
/// ```
///
/// `mimalloc = "0.1.52"`:
///
/// ```
/// # mod mimalloc { pub use std::alloc::System as MiMalloc; }
/// use mimalloc::MiMalloc;
///
/// #[global_allocator]
/// static ALLOCATOR: heapwise::Allocator<MiMalloc> = heapwise::Allocator::new(MiMalloc);
/// # fn main() { assert_eq!(*Box::new(7), 7); }
/// ```
///
/// `snmalloc-rs = "0.7.6"`, which needs cmake and a compiler for C++:
///
/// ```
/// # mod snmalloc_rs { pub use std::alloc::System as SnMalloc; }
/// use snmalloc_rs::SnMalloc;
///
/// #[global_allocator]
/// static ALLOCATOR: heapwise::Allocator<SnMalloc> = heapwise::Allocator::new(SnMalloc);
/// # fn main() { assert_eq!(*Box::new(7), 7); }
/// ```
///
/// # What it costs
///
/// Nanoseconds per pair of an allocation and its end, with one thread; `cargo xtask bench library`, on two cores of an AMD EPYC,
/// the median of seven layouts of the code:
///
/// | inner allocator | bare | added inert | added counting |
/// |---|---:|---:|---:|
/// | `System` (glibc 2.36) | 9.70 | 0.07 | 0.99 |
/// | jemalloc | 6.09 | 0.04 | 1.47 |
/// | mimalloc | 7.72 | 0.24 | 0.89 |
/// | snmalloc | 9.37 | 0.00 | 2.22 |
///
/// With four threads counting adds up to 0.8 more. Over any other allocator, also one that wraps these, requests are counted after the call, which
/// adds 1.7 with one thread and 2.1 with four. Being recorded by `heapwise run` adds 28 over `System`. docs/library-costs.md in the repository has
/// the ranges, and other wrappers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator<A = System> {
    inner: A,
}

impl Allocator<System> {
    /// Over the system's allocator: what a Rust program has that names none.
    ///
    /// ```
    /// #[global_allocator]
    /// static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # fn main() {}
    /// ```
    #[must_use]
    pub const fn system() -> Self {
        Self::new(System)
    }
}

impl<A> Allocator<A> {
    /// Over an allocator of your choice.
    ///
    /// ```
    /// use std::alloc::System;
    ///
    /// #[global_allocator]
    /// static ALLOCATOR: heapwise::Allocator<System> = heapwise::Allocator::new(System);
    /// # fn main() {}
    /// ```
    #[must_use]
    pub const fn new(inner: A) -> Self {
        Self { inner }
    }
}

// SAFETY: every call is passed on to the inner allocator with the arguments that it came with, and its answer is returned;
// what watches neither touches the blocks nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (state, size) = (state::now(), layout.size());
        if !state.is_inert() {
            cold_path();
            if !is_counted_before::<A>(state, layout.align(), || tally::allocated(size)) {
                // SAFETY: the caller's call.
                return unsafe { Self::alloc_watched(size, layout.align(), self, state) };
            }
        }
        // SAFETY: the caller's call.
        unsafe { self.inner.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (state, size) = (state::now(), layout.size());
        if !state.is_inert() {
            cold_path();
            if !is_counted_before::<A>(state, layout.align(), || tally::allocated(size)) {
                // SAFETY: the caller's call.
                return unsafe { Self::alloc_zeroed_watched(size, layout.align(), self, state) };
            }
        }
        // SAFETY: the caller's call.
        unsafe { self.inner.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (state, size) = (state::now(), layout.size());
        if !state.is_inert() {
            cold_path();
            if !(state == COUNTING && tally::deallocated(size)) {
                // SAFETY: the caller's call.
                return unsafe { Self::dealloc_watched(block, size, layout.align(), self, state) };
            }
        }
        // SAFETY: the caller's call.
        unsafe { self.inner.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (state, old) = (state::now(), layout.size());
        if !state.is_inert() {
            cold_path();
            if !is_counted_before::<A>(state, layout.align(), || {
                size < tally::SMALL && tally::reallocated(old, size)
            }) {
                // SAFETY: the caller's call.
                return unsafe { Self::realloc_watched(block, old, layout.align(), size, self, state) };
            }
        }
        // SAFETY: the caller's call.
        unsafe { self.inner.realloc(block, layout, size) }
    }
}

/// Counts a request before it is passed on, where nothing else watches, and `count` has nothing else to do. Returns whether it did.
///
/// PERF: what is called last needs no frame and does not come back. A count after the call takes three times as long.
///
/// A request that is refused is counted as well, then. So this is only done for small ones, and only over allocators that refuse those when the
/// process gets no more memory, and not before. A large new block always has something else to be done for it.
#[inline(always)]
fn is_counted_before<A>(state: State, align: usize, count: impl FnOnce() -> bool) -> bool {
    state == COUNTING && align <= tally::SMALL_ALIGN && inner::refuses_only_without_memory::<A>() && count()
}

// PERF: each path but the count before a call is a separate function that is called last, so the frame that the rarer one needs is not made by
// the one before it. What is inlined into the program is the load, the branch, that count, and the call of the inner allocator. The allocator is the last
// argument: so the others are where they came from, and need not be moved before it is known which path it is. The path to the recorder
// notes where it was called from before it makes a frame: with optimisation that is the program's own code, and stacks begin there.
//
// Which path it is, is decided where the program calls, unless there is more to be asked than what is watching.
impl<A: GlobalAlloc> Allocator<A> {
    /// # Safety
    /// As [`GlobalAlloc::alloc`].
    #[cfg_attr(feature = "serve", inline(never))]
    #[cfg_attr(not(feature = "serve"), inline(always))]
    unsafe fn alloc_watched(size: usize, align: usize, this: &Self, state: State) -> *mut u8 {
        #[cfg(feature = "serve")]
        if sampled::passes_over(state, size) {
            // SAFETY: the caller's call.
            return unsafe { this.inner.alloc(layout(size, align)) };
        }
        // SAFETY: the caller's call.
        unsafe {
            match state == COUNTING {
                true => Self::alloc_counted(size, align, this),
                false => Self::alloc_recorded(size, align, this),
            }
        }
    }

    /// # Safety
    /// As [`GlobalAlloc::alloc_zeroed`].
    #[cfg_attr(feature = "serve", inline(never))]
    #[cfg_attr(not(feature = "serve"), inline(always))]
    unsafe fn alloc_zeroed_watched(size: usize, align: usize, this: &Self, state: State) -> *mut u8 {
        #[cfg(feature = "serve")]
        if sampled::passes_over(state, size) {
            // SAFETY: the caller's call.
            return unsafe { this.inner.alloc_zeroed(layout(size, align)) };
        }
        // SAFETY: the caller's call.
        unsafe {
            match state == COUNTING {
                true => Self::alloc_zeroed_counted(size, align, this),
                false => Self::alloc_zeroed_recorded(size, align, this),
            }
        }
    }

    /// # Safety
    /// As [`GlobalAlloc::dealloc`].
    #[cfg_attr(feature = "serve", inline(never))]
    #[cfg_attr(not(feature = "serve"), inline(always))]
    unsafe fn dealloc_watched(block: *mut u8, size: usize, align: usize, this: &Self, state: State) {
        #[cfg(feature = "serve")]
        if sampled::is_other(state, block) {
            // SAFETY: the caller's call.
            return unsafe { this.inner.dealloc(block, layout(size, align)) };
        }
        // SAFETY: the caller's call.
        unsafe {
            match state == COUNTING {
                true => Self::dealloc_counted(block, size, align, this),
                false => Self::dealloc_recorded(block, size, align, this),
            }
        }
    }

    /// # Safety
    /// As [`GlobalAlloc::realloc`].
    #[cfg_attr(feature = "serve", inline(never))]
    #[cfg_attr(not(feature = "serve"), inline(always))]
    unsafe fn realloc_watched(
        block: *mut u8,
        size: usize,
        align: usize,
        new: usize,
        this: &Self,
        state: State,
    ) -> *mut u8 {
        #[cfg(feature = "serve")]
        if sampled::is_other(state, block) && sampled::passes_over(state, new) {
            // SAFETY: the caller's call.
            return unsafe { this.inner.realloc(block, layout(size, align), new) };
        }
        // SAFETY: the caller's call.
        unsafe {
            match state == COUNTING {
                true => Self::realloc_counted(block, size, align, new, this),
                false => Self::realloc_recorded(block, size, align, new, this),
            }
        }
    }

    /// # Safety
    /// As [`GlobalAlloc::alloc`].
    #[inline(never)]
    unsafe fn alloc_counted(size: usize, align: usize, this: &Self) -> *mut u8 {
        // SAFETY: the caller's call.
        let block = unsafe { this.inner.alloc(layout(size, align)) };
        if !block.is_null() {
            tally::count_allocation(size);
        }
        block
    }

    /// # Safety
    /// As [`GlobalAlloc::alloc_zeroed`].
    #[inline(never)]
    unsafe fn alloc_zeroed_counted(size: usize, align: usize, this: &Self) -> *mut u8 {
        // SAFETY: the caller's call.
        let block = unsafe { this.inner.alloc_zeroed(layout(size, align)) };
        if !block.is_null() {
            tally::count_allocation(size);
        }
        block
    }

    /// # Safety
    /// As [`GlobalAlloc::dealloc`].
    #[inline(never)]
    unsafe fn dealloc_counted(block: *mut u8, size: usize, align: usize, this: &Self) {
        tally::count_deallocation(size);
        // SAFETY: the caller's call.
        unsafe { this.inner.dealloc(block, layout(size, align)) }
    }

    /// # Safety
    /// As [`GlobalAlloc::realloc`].
    #[inline(never)]
    unsafe fn realloc_counted(block: *mut u8, size: usize, align: usize, new: usize, this: &Self) -> *mut u8 {
        // SAFETY: the caller's call.
        let moved = unsafe { this.inner.realloc(block, layout(size, align), new) };
        if !moved.is_null() {
            tally::count_reallocation(size, new);
        }
        moved
    }

    record::with_caller! {
        /// # Safety
        /// As [`GlobalAlloc::alloc`].
        alloc_recorded(size: usize, align: usize) -> *mut u8 => alloc_from
    }

    record::with_caller! {
        /// # Safety
        /// As [`GlobalAlloc::alloc_zeroed`].
        alloc_zeroed_recorded(size: usize, align: usize) -> *mut u8 => alloc_zeroed_from
    }

    record::with_caller! {
        /// # Safety
        /// As [`GlobalAlloc::dealloc`].
        dealloc_recorded(block: *mut u8, size: usize, align: usize) => dealloc_from
    }

    record::with_caller! {
        /// # Safety
        /// As [`GlobalAlloc::realloc`].
        realloc_recorded(block: *mut u8, size: usize, align: usize, new: usize) -> *mut u8 => realloc_from
    }

    /// # Safety
    /// As [`GlobalAlloc::alloc`].
    #[inline(never)]
    unsafe extern "C" fn alloc_from(size: usize, align: usize, this: &Self, sp: usize, fp: usize) -> *mut u8 {
        // SAFETY: the caller's call.
        let (layout, caller) = (unsafe { layout(size, align) }, Caller::new(sp, fp));
        // SAFETY: the caller's call.
        let call = || unsafe { record::alloc_below(&this.inner, layout) };
        watch_allocation::<A>(layout, record::Function::Alloc, caller, call)
    }

    /// # Safety
    /// As [`GlobalAlloc::alloc_zeroed`].
    #[inline(never)]
    unsafe extern "C" fn alloc_zeroed_from(
        size: usize,
        align: usize,
        this: &Self,
        sp: usize,
        fp: usize,
    ) -> *mut u8 {
        // SAFETY: the caller's call.
        let (layout, caller) = (unsafe { layout(size, align) }, Caller::new(sp, fp));
        // SAFETY: the caller's call.
        let call = || unsafe { this.inner.alloc_zeroed(layout) };
        watch_allocation::<A>(layout, record::Function::AllocZeroed, caller, call)
    }

    /// # Safety
    /// As [`GlobalAlloc::dealloc`].
    #[inline(never)]
    unsafe extern "C" fn dealloc_from(
        block: *mut u8,
        size: usize,
        align: usize,
        this: &Self,
        sp: usize,
        fp: usize,
    ) {
        let (state, caller) = (decided::<A>(), Caller::new(sp, fp));
        // SAFETY: the caller's call.
        let call = || unsafe { record::dealloc_below(&this.inner, block, layout(size, align)) };
        match state == state::RECORDING {
            true => record::deallocation(block, &caller, call),
            false => watch_deallocation_by(state, block, size, caller, call),
        }
    }

    /// # Safety
    /// As [`GlobalAlloc::realloc`].
    #[inline(never)]
    unsafe extern "C" fn realloc_from(
        block: *mut u8,
        size: usize,
        align: usize,
        new: usize,
        this: &Self,
        sp: usize,
        fp: usize,
    ) -> *mut u8 {
        // SAFETY: the caller's call.
        let (layout, caller) = (unsafe { layout(size, align) }, Caller::new(sp, fp));
        // SAFETY: the caller's call.
        let call = || unsafe { this.inner.realloc(block, layout, new) };
        watch_reallocation::<A>(block, &layout, new, &caller, call)
    }
}

/// The layout of a call, from its two numbers.
///
/// # Safety
/// They are those of a layout.
#[inline(always)]
unsafe fn layout(size: usize, align: usize) -> Layout {
    // SAFETY: the caller's promise.
    unsafe { Layout::from_size_align_unchecked(size, align) }
}

/// Which watchers there are, after the first call of the process has found out whether it is recorded.
fn decided<A>() -> State {
    state::decided(|| {
        #[cfg(all(
            feature = "record",
            target_os = "linux",
            target_arch = "x86_64",
            not(feature = "portable-recorder")
        ))]
        // SAFETY: puts a few bytes into a separate section; there is no instruction among them.
        unsafe {
            heapwise_recorder::executable_note!();
        }
        record::begin_if_wanted(type_name::<A>())
    })
}

/// An allocation that needs more than a count, or the first one of the process.
///
/// PERF: what is recorded is hardly ever counted as well. Where it is not, nothing has to be kept for afterwards.
#[inline(always)]
fn watch_allocation<A>(
    layout: Layout,
    function: record::Function,
    caller: Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let state = decided::<A>();
    match state == state::RECORDING {
        true => record::allocation(&layout, function, &caller, call),
        false => watch_allocation_by(state, layout, function, caller, call),
    }
}

/// The same, whatever is watching.
#[inline(never)]
fn watch_allocation_by(
    state: State,
    layout: Layout,
    function: record::Function,
    caller: Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    #[cfg(feature = "serve")]
    let call = || sampled::allocation(&layout, function, call);
    let block = match state.has(state::RECORDING) {
        true => record::allocation(&layout, function, &caller, call),
        false => call(),
    };
    if !block.is_null() {
        if state.has(COUNTING) {
            tally::count_allocation(layout.size());
        }
        #[cfg(feature = "budgets")]
        if state.has(state::STACKS) {
            crate::budget::requested(layout.size());
        }
    }
    block
}

/// The same for a block that is freed.
#[inline(never)]
fn watch_deallocation_by(state: State, block: *mut u8, size: usize, caller: Caller, call: impl FnOnce()) {
    if state.has(COUNTING) {
        tally::count_deallocation(size);
    }
    #[cfg(feature = "serve")]
    let call = || sampled::deallocation(block, call);
    match state.has(state::RECORDING) {
        true => record::deallocation(block, &caller, call),
        false => call(),
    }
}

/// The same for a block that is resized.
#[inline(always)]
fn watch_reallocation<A>(
    block: *mut u8,
    layout: &Layout,
    size: usize,
    caller: &Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let state = decided::<A>();
    #[cfg(feature = "serve")]
    let call = || sampled::reallocation(block, layout, size, call);
    let new = match state.has(state::RECORDING) {
        true => record::reallocation(block, layout, size, caller, call),
        false => call(),
    };
    if !new.is_null() {
        if state.has(COUNTING) {
            tally::count_reallocation(layout.size(), size);
        }
        #[cfg(feature = "budgets")]
        if state.has(state::STACKS) {
            crate::budget::requested(size);
        }
    }
    new
}
