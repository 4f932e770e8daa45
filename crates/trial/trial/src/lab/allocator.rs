//! The worker's allocator: the system's, or mimalloc if a variable says so.
//!
//! A program's allocator is decided when it is built, and an experiment must change nothing else. So both allocators are in the
//! program, and [`Switch`] decides between them once: at the first allocation, which is before `main`, and without allocating.
//! Afterwards each call costs one relaxed load and a branch that is always taken the same way. Nothing is ever allocated before
//! the decision, so each block is freed by the allocator that it came from.

#![expect(
    unsafe_code,
    reason = "an allocator is an unsafe trait, and asking for a variable without allocating is C"
)]

#[cfg(windows)]
use crate::lab::variable::ALLOCATOR_VARIABLE;
use crate::lab::variable::MIMALLOC;
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering};

/// [`ALLOCATOR_VARIABLE`](crate::lab::ALLOCATOR_VARIABLE) as C takes it.
#[cfg(unix)]
const VARIABLE: &std::ffi::CStr = c"HEAPWISE_LAB_ALLOCATOR";

const UNDECIDED: u8 = 0;
const IS_SYSTEM: u8 = 1;
const IS_MIMALLOC: u8 = 2;

/// What was decided. There is one for all `Switch`es, since blocks may go from one to the other.
///
/// Relaxed is enough: only the value matters, and nothing else is published by it.
static CHOICE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// The system's allocator, or mimalloc if [`ALLOCATOR_VARIABLE`](crate::lab::ALLOCATOR_VARIABLE) says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Switch;

/// Whether blocks come from mimalloc.
#[inline]
fn is_mimalloc() -> bool {
    match CHOICE.load(Ordering::Relaxed) {
        IS_SYSTEM => false,
        IS_MIMALLOC => true,
        _ => decide(),
    }
}

/// The first thread to get here decides for all, even if the variable should change meanwhile.
#[cold]
fn decide() -> bool {
    let wish = if variable_says_mimalloc() { IS_MIMALLOC } else { IS_SYSTEM };
    let decided = CHOICE.compare_exchange(UNDECIDED, wish, Ordering::Relaxed, Ordering::Relaxed);
    decided.map_or_else(|earlier| earlier, |_| wish) == IS_MIMALLOC
}

#[cfg(unix)]
fn variable_says_mimalloc() -> bool {
    // SAFETY: the name ends in a zero, and no thread changes the environment meanwhile: the first allocation is that of the
    // runtime, before `main`, when there is one thread. The result is null or a string that ends in a zero, and it is not used
    // after the environment may have changed.
    unsafe {
        let value = libc::getenv(VARIABLE.as_ptr());
        !value.is_null() && std::ffi::CStr::from_ptr(value).to_bytes() == MIMALLOC.as_bytes()
    }
}

#[cfg(windows)]
fn variable_says_mimalloc() -> bool {
    use windows_sys::Win32::System::Environment::GetEnvironmentVariableW;
    let mut name = [0u16; ALLOCATOR_VARIABLE.len() + 1];
    for (wide, byte) in name.iter_mut().zip(ALLOCATOR_VARIABLE.bytes()) {
        *wide = u16::from(byte);
    }
    let mut value = [0u16; 16];
    // SAFETY: the name ends in a zero, and the buffer has as many characters as the call is passed. The call copies, and does not
    // allocate from the heap of this process.
    let length =
        unsafe { GetEnvironmentVariableW(name.as_ptr(), value.as_mut_ptr(), value.len() as u32) } as usize;
    // If the value is longer than the buffer, the length is that of the value, and the buffer has nothing of it.
    length == MIMALLOC.len()
        && value.iter().zip(MIMALLOC.bytes()).all(|(wide, byte)| *wide == u16::from(byte))
}

#[cfg(not(any(unix, windows)))]
fn variable_says_mimalloc() -> bool {
    false
}

// SAFETY: every call goes on as it came to one of two allocators that keep the contract, always to the same one: the choice
// is made before the first block is handed out and does not change. Neither unwinds, and nor does the choice.
unsafe impl GlobalAlloc for Switch {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { if is_mimalloc() { MiMalloc.alloc(layout) } else { System.alloc(layout) } }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        unsafe { if is_mimalloc() { MiMalloc.alloc_zeroed(layout) } else { System.alloc_zeroed(layout) } }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise that the block is one of this allocator, hence of the one that was chosen.
        unsafe { if is_mimalloc() { MiMalloc.dealloc(block, layout) } else { System.dealloc(block, layout) } }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`.
        unsafe {
            if is_mimalloc() {
                MiMalloc.realloc(block, layout, size)
            } else {
                System.realloc(block, layout, size)
            }
        }
    }
}

/// Whether a value on the heap, or what it begins with, lies in memory of mimalloc's. The answer is mimalloc's own and does not
/// depend on the choice, so it proves which allocator was used.
pub(crate) fn is_in_mimalloc<T: ?Sized>(value: &T) -> bool {
    let address = std::ptr::from_ref(value).cast::<core::ffi::c_void>();
    // SAFETY: the address is compared with ranges that mimalloc knows, and not followed.
    unsafe { libmimalloc_sys::mi_is_in_heap_region(address) }
}
