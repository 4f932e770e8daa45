//! A slot for each function that is entered through the recorder: what the stub hands on.

use crate::arch::entry::Entry;
use crate::arch::jump::{self, KEEPS_VECTORS_AT};
use crate::arch::tls::Words;
use crate::real;
use crate::sys;
use crate::turn::is_inner_slowly;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::live::hooks::{Arguments, Hook, MOST_HOOKS};

/// A function with up to three arguments.
pub(super) type Three = unsafe extern "C" fn(usize, usize, usize) -> usize;
/// A function with up to six arguments.
pub(super) type Six = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;

/// What is known of one function.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Slot {
    /// Where its first instructions are now: calling this is calling the function.
    real: AtomicUsize,
    /// Where the jump is.
    address: AtomicUsize,
    kind: AtomicU8,
    may_pass_on: AtomicU8,
    /// Read by the shims.
    keeps_vectors: AtomicU8,
    allocator: AtomicU8,
    is_behind_heap: AtomicU8,
    /// Where the object file with the function begins and ends.
    object_start: AtomicUsize,
    object_end: AtomicUsize,
}

const _: () = assert!(core::mem::offset_of!(Slot, keeps_vectors) == KEEPS_VECTORS_AT);
const _: () = assert!(core::mem::offset_of!(Slot, real) == 0);

impl Slot {
    const fn none() -> Self {
        Self {
            real: AtomicUsize::new(0),
            address: AtomicUsize::new(0),
            kind: AtomicU8::new(0),
            may_pass_on: AtomicU8::new(0),
            keeps_vectors: AtomicU8::new(0),
            allocator: AtomicU8::new(0),
            is_behind_heap: AtomicU8::new(0),
            object_start: AtomicUsize::new(0),
            object_end: AtomicUsize::new(0),
        }
    }

    /// The function, with up to three arguments.
    ///
    /// # Safety
    /// It has that many, and returns a word or nothing.
    #[inline(always)]
    pub(super) unsafe fn function_of_three(&self) -> Three {
        // SAFETY: the moved beginning of the function, of the calling convention of C; more arguments than it has are ignored.
        unsafe { core::mem::transmute(self.real.load(Ordering::Relaxed)) }
    }

    /// The function, with up to six arguments.
    ///
    /// # Safety
    /// It has that many, and returns a word.
    #[inline(always)]
    pub(super) unsafe fn function_of_six(&self) -> Six {
        // SAFETY: as above.
        unsafe { core::mem::transmute(self.real.load(Ordering::Relaxed)) }
    }

    /// What the function does.
    #[inline(always)]
    pub(super) fn kind(&self) -> u8 {
        self.kind.load(Ordering::Relaxed)
    }

    /// Whose function it is.
    #[inline(always)]
    pub(super) fn allocator(&self) -> AllocatorNumber {
        AllocatorNumber(self.allocator.load(Ordering::Relaxed))
    }

    /// Whether a heap comes before the function's other arguments.
    pub(super) fn is_behind_heap(&self) -> bool {
        self.is_behind_heap.load(Ordering::Relaxed) != 0
    }

    /// Whether this call of the function comes from further in: an allocator's own, or the recorder's.
    #[inline(always)]
    pub(super) fn is_inner(&self, words: Words, entry: Entry) -> bool {
        // SAFETY: this thread's own word, read as a whole; no reference to it lives.
        unsafe { (*words).guard != 0 && self.is_inner_of(words, entry) }
    }

    #[cold]
    #[inline(never)]
    fn is_inner_of(&self, words: Words, entry: Entry) -> bool {
        // SAFETY: the slot of the return address of the call that has just been made.
        let caller = unsafe { (entry.stack_pointer as *const usize).read_volatile() };
        // One function of an allocator ends with a jump to another one: what it returns to is the recorder.
        if real::is_own_code(caller) {
            return true;
        }
        // What an allocator calls in another file is no part of it. It may be the making of an exception, or a thread.
        let object = self.object_start.load(Ordering::Relaxed)..self.object_end.load(Ordering::Relaxed);
        let is_from_elsewhere =
            !object.is_empty() && !object.contains(&caller) && real::is_others_code(caller);
        !is_from_elsewhere && is_inner_slowly(words, entry)
    }

    /// Whether the function may be one that passes on to the C library.
    #[inline(always)]
    pub(super) fn may_pass_on(&self) -> bool {
        self.may_pass_on.load(Ordering::Relaxed) != 0
    }

    /// Fills it in, before any thread can have it.
    pub(super) fn fill(&self, real: usize, address: usize, object: Range<usize>, hook: &Hook) {
        self.object_start.store(object.start, Ordering::Relaxed);
        self.object_end.store(object.end, Ordering::Relaxed);
        self.real.store(real, Ordering::Relaxed);
        self.kind.store(hook.kind as u8, Ordering::Relaxed);
        self.may_pass_on.store(u8::from(hook.may_pass_on), Ordering::Relaxed);
        self.keeps_vectors.store(u8::from(hook.keeps_vectors), Ordering::Relaxed);
        self.allocator.store(hook.allocator.0, Ordering::Relaxed);
        let is_behind_heap = hook.arguments == Arguments::BehindHeap;
        self.is_behind_heap.store(u8::from(is_behind_heap), Ordering::Relaxed);
        self.address.store(address, Ordering::Release);
    }
}

/// Those of this process. A forked child has its parent's, as it has the jumps.
static SLOTS: [Slot; MOST_HOOKS] = [const { Slot::none() }; MOST_HOOKS];
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A new slot; `None` if there is none left.
pub(super) fn take() -> Option<&'static Slot> {
    let index = COUNT.fetch_add(1, Ordering::Relaxed) as usize;
    if index >= MOST_HOOKS {
        COUNT.store(MOST_HOOKS as u32, Ordering::Relaxed);
    }
    SLOTS.get(index)
}

/// Whether the code of some function still is a jump to the recorder. One that was unmapped is none.
pub(crate) fn leads_here() -> bool {
    let count = (COUNT.load(Ordering::Relaxed) as usize).min(MOST_HOOKS);
    SLOTS[..count].iter().any(|slot| {
        let (address, moved) = (slot.address.load(Ordering::Acquire), slot.real.load(Ordering::Relaxed));
        let Some(jump) = jump::jump(address, jump::stub_before(moved)) else { return false };
        let word = if address == 0 { None } else { sys::read_word_always(address) };
        word.is_some_and(|word| word.to_le_bytes().starts_with(&jump))
    })
}

/// Whether a function at this address is entered through the recorder already.
pub(super) fn is_taken(address: usize) -> bool {
    let count = (COUNT.load(Ordering::Relaxed) as usize).min(MOST_HOOKS);
    SLOTS[..count].iter().any(|slot| slot.address.load(Ordering::Acquire) == address)
}
