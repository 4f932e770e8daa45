//! On Linux the wrapper contains the recorder, and connects to the collector of `heapwise run`, or to one in its own process.

#![expect(unsafe_code, reason = "the interface of allocators is unsafe")]

#[cfg(feature = "record-to")]
mod inside;

#[cfg(feature = "record-to")]
pub(super) use inside::{finish, start};

use super::{Function, Mark};
use crate::inner;
use crate::state::{self, RECORDING};
use heapwise_recorder::wrapped::{self, Inner};
use std::alloc::{GlobalAlloc, Layout, System};
use std::any::type_name;
use std::ffi::CStr;
use std::sync::OnceLock;

/// Whether the first call of a process has to find out whether it is recorded.
pub(crate) const POSSIBLE: bool = true;

/// Whether a recording is a sample.
#[cfg(feature = "serve")]
pub(crate) const IS_SAMPLE: bool = false;

/// Bytes kept of the name of the inner allocator's type, with a zero at the end.
const NAME_BYTES: usize = 256;

/// The allocator below the wrapper, since the first call.
static INNER: OnceLock<Inner> = OnceLock::new();

/// Begins to record if `heapwise run` has started this program. `inner` is the name of the inner allocator's type.
pub(crate) fn begin_if_wanted(inner: &'static str) -> bool {
    static NAME: OnceLock<[u8; NAME_BYTES]> = OnceLock::new();
    let inner = *INNER.get_or_init(|| {
        if inner == type_name::<System>() {
            return Inner::Malloc;
        }
        let name = NAME.get_or_init(|| {
            let mut name = [0; NAME_BYTES];
            name.iter_mut().take(NAME_BYTES - 1).zip(inner.bytes()).for_each(|(to, from)| *to = from);
            name
        });
        Inner::Named(CStr::from_bytes_until_nul(name).unwrap_or(c""))
    });
    wrapped::begin(inner)
}

pub(crate) use wrapped::Caller;

/// The inner allocator's `alloc`. The system's is what it would call, without the preload library in between.
///
/// # Safety
/// As [`GlobalAlloc::alloc`].
#[inline(always)]
pub(crate) unsafe fn alloc_below<A: GlobalAlloc>(inner: &A, layout: Layout) -> *mut u8 {
    // What `System` calls `malloc` for.
    let is_plain = layout.align() <= wrapped::MIN_ALIGN && layout.align() <= layout.size();
    match wrapped::malloc_behind() {
        // SAFETY: the C function, which takes any size; its block is the caller's alone, and aligned as the layout asks.
        Some(malloc) if inner::is_system::<A>() && is_plain => unsafe { malloc(layout.size()) },
        // SAFETY: the caller's call.
        _ => unsafe { inner.alloc(layout) },
    }
}

/// The inner allocator's `dealloc`, in the same way.
///
/// # Safety
/// As [`GlobalAlloc::dealloc`].
#[inline(always)]
pub(crate) unsafe fn dealloc_below<A: GlobalAlloc>(inner: &A, block: *mut u8, layout: Layout) {
    match wrapped::free_behind() {
        // SAFETY: the C function. Whichever function of `System` or of the above handed the block out, this is what frees it, whatever its
        // alignment; the caller has no other use of it. The preload library knew what is behind it before the program's first block.
        Some(free) if inner::is_system::<A>() => unsafe { free(block) },
        // SAFETY: the caller's call.
        _ => unsafe { inner.dealloc(block, layout) },
    }
}

/// A function `$name` of a type, with a reference to it as the last argument, that calls `$then` with two arguments more: the stack pointer
/// and the frame pointer at its entry.
///
/// SAFETY of the naked bodies: each is entered by the C calling convention with its arguments in the first registers, leaves these and
/// the callee's registers alone, and puts the two numbers where the convention has the next arguments of `$then`. It touches no memory but
/// its own stack.
macro_rules! with_caller {
    ($(#[$doc:meta])* $name:ident($a:ident: $A:ty, $b:ident: $B:ty) $(-> $R:ty)? => $then:ident) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name($a: $A, $b: $B, _: &Self) $(-> $R)? {
            heapwise_recorder::jump_with_entry!("rcx", "r8", Self::$then)
        }
    };
    ($(#[$doc:meta])* $name:ident($a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty) $(-> $R:ty)? => $then:ident) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name($a: $A, $b: $B, $c: $C, _: &Self) $(-> $R)? {
            heapwise_recorder::jump_with_entry!("r8", "r9", Self::$then)
        }
    };
    (
        $(#[$doc:meta])*
        $name:ident($a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty, $d:ident: $D:ty) $(-> $R:ty)? => $then:ident
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name($a: $A, $b: $B, $c: $C, $d: $D, _: &Self) $(-> $R)? {
            heapwise_recorder::call_with_entry!("r9", Self::$then)
        }
    };
}
pub(crate) use with_caller;

#[inline(always)]
pub(crate) fn allocation(
    layout: &Layout,
    function: Function,
    caller: &Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    wrapped::allocation(layout.size(), layout.align(), function == Function::AllocZeroed, caller, call)
}

#[inline(always)]
pub(crate) fn deallocation(block: *mut u8, caller: &Caller, call: impl FnOnce()) {
    wrapped::deallocation(block, caller, call);
}

#[inline(always)]
pub(crate) fn reallocation(
    block: *mut u8,
    _layout: &Layout,
    size: usize,
    caller: &Caller,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    wrapped::reallocation(block, size, caller, call)
}

/// To the recorder in this program, or to the one that was preloaded.
pub(crate) fn mark(mark: Mark, name: &str) {
    let kind = match mark {
        Mark::Moment => wrapped::Mark::Moment,
        Mark::Begin => wrapped::Mark::Begin,
        Mark::End => wrapped::Mark::End,
    };
    if state::now().has(RECORDING) {
        wrapped::mark(kind, name.as_bytes());
    } else {
        wrapped::mark_by_preload(kind, name.as_bytes());
    }
}

/// Keeps what this thread does from being recorded, as long as the value lives.
#[cfg(feature = "serve")]
pub(crate) fn exclude_this_thread() -> wrapped::NoRecordGuard {
    wrapped::NoRecordGuard::begin()
}
