//! Reads the stack of the calling thread.
//!
//! Inside the bounds of the current stack, above the frame that is being unwound, everything is mapped and readable.
//! Anything else is asked of the kernel, which answers instead of faulting.

use crate::arch::tls::thread_pointer;
use crate::sys;
use core::ops::Range;
use core::sync::atomic::{Ordering, compiler_fence};

/// Near the thread's control block, which glibc puts at the upper end of a thread's stack, no mapping is looked up:
/// no thread's stack is smaller than this allows for.
const NEAR_THREAD_POINTER: usize = 64 << 10;
/// The kernel keeps at least this gap below a stack that grows.
const GROWTH_GAP: usize = 1 << 20;
/// Stacks that are remembered per thread: its own, a signal stack, a few coroutines.
const KNOWN: usize = 6;

/// The stacks that a thread was seen on, the current one first.
#[derive(Debug)]
#[repr(C)]
pub struct Stacks {
    known: [(usize, usize); KNOWN],
}

impl Stacks {
    /// Bounds of the stack that the thread was on last.
    #[inline(always)]
    pub fn current(&self) -> Range<usize> {
        self.known[0].0..self.known[0].1
    }

    /// Makes the stack that holds `sp` the current one. Returns whether its bounds are known now.
    #[cold]
    pub fn switch_to(&mut self, sp: usize) -> bool {
        let known = self.known.iter().position(|&(low, high)| low <= sp && sp < high);
        let (index, bounds) = match known {
            Some(index) => (index, self.known[index]),
            None => match bounds_of(sp) {
                Some(bounds) => (KNOWN - 1, bounds),
                None => return false,
            },
        };
        for index in (0..index).rev() {
            self.set(index + 1, self.known[index]);
        }
        self.set(0, bounds);
        true
    }

    /// Changes a range so that a signal handler in between finds an empty one, and never halves of two.
    fn set(&mut self, index: usize, (low, high): (usize, usize)) {
        let (to_low, to_high) = &mut self.known[index];
        *to_high = 0;
        compiler_fence(Ordering::SeqCst);
        *to_low = low;
        compiler_fence(Ordering::SeqCst);
        *to_high = high;
    }

    /// Whether two stack pointers are known to be of one stack, of which `a` is that of the caller.
    ///
    /// # Safety
    /// `stacks` can be read. It may be what a signal handler has interrupted in the middle of a change.
    pub unsafe fn share(stacks: *const Self, a: usize, b: usize) -> bool {
        // SAFETY: the caller's promise; each word is read as a whole.
        let range = |index: usize| unsafe {
            let range = &raw const (*stacks).known[index];
            (&raw const (*range).0).read_volatile()..(&raw const (*range).1).read_volatile()
        };
        let known = (0..KNOWN).map(range).find(|range| range.contains(&a));
        // Without it a thread that was interrupted before its first stack was found would never get on.
        let known = known.or_else(|| bounds_of(a).map(|(low, high)| low..high));
        known.is_some_and(|range| range.contains(&b))
    }

    /// The memory of another stack that this thread is on, too: the one that a signal handler on its own stack has
    /// interrupted. `None` if it is not known.
    #[cold]
    pub fn interrupted(&mut self, sp: usize) -> Option<StackMemory> {
        let known = self.known.iter().find(|&&(low, high)| low <= sp && sp < high).copied();
        let (_, high) = match known {
            Some(bounds) => bounds,
            None => {
                let bounds = bounds_of(sp)?;
                self.set(KNOWN - 1, bounds);
                bounds
            }
        };
        // SAFETY: the thread was interrupted with this stack pointer, so all above it is mapped and in use.
        Some(unsafe { StackMemory::new(sp & !7, high) })
    }

    /// Forgets all stacks.
    pub fn forget(&mut self) {
        for index in 0..KNOWN {
            self.set(index, (0, 0));
        }
    }
}

fn bounds_of(sp: usize) -> Option<(usize, usize)> {
    let pointer = thread_pointer();
    // The main thread's control block is in a mapping of the loader, far below its stack.
    if sp < pointer && pointer - sp < NEAR_THREAD_POINTER {
        return Some((pointer - NEAR_THREAD_POINTER, pointer));
    }
    let (start, end) = sys::maps::mapping_of(sp)?;
    let main = sys::initial_stack();
    if start <= main && main < end {
        return Some((start - GROWTH_GAP, end));
    }
    // A thread's control block lies in the same mapping as its stack, above it. What is above that is another stack, for
    // which the program has mapped memory that happens to be next to it.
    Some(match (start..end).contains(&pointer) {
        true if sp < pointer => (start, pointer),
        true => (pointer, end),
        false => (start, end),
    })
}

/// Whether a frame that ends at `sp` is the process's first: the loader's entry point has no unwind table.
pub fn is_process_start(sp: usize) -> bool {
    let start = sys::initial_stack();
    sp <= start && start - sp <= ENTRY_FRAME
}

/// What the loader's entry point may have pushed before it called anything.
const ENTRY_FRAME: usize = 128;

/// Whether a frame that ends at `sp` may be that of the function that starts a thread or the program: near the upper end of
/// its stack. musl has no unwind tables for these, and no frame pointers.
pub fn is_near_start(sp: usize) -> bool {
    let (start, pointer) = (sys::initial_stack(), thread_pointer());
    [start, pointer].iter().any(|&end| sp <= end && end - sp <= START_FRAMES)
}

/// What the functions that start a thread or a program, and its thread-local variables, may take of a stack.
const START_FRAMES: usize = 2048;

/// The readable part of the current stack: from the innermost frame to its upper end.
#[derive(Clone, Copy, Debug)]
pub struct StackMemory {
    low: usize,
    high: usize,
}

impl StackMemory {
    /// # Safety
    /// All of `low..high` is mapped and readable, and stays so while this is used.
    #[inline(always)]
    pub unsafe fn new(low: usize, high: usize) -> Self {
        Self { low, high }
    }

    /// Whether an address lies in this part of the stack.
    #[inline(always)]
    pub fn contains(&self, at: usize) -> bool {
        self.low <= at && at < self.high
    }

    /// The upper end.
    #[inline(always)]
    pub fn high(&self) -> usize {
        self.high
    }

    /// Reads a word of the stack; `None` outside of it.
    #[inline(always)]
    pub fn word(&self, at: usize) -> Option<usize> {
        if at < self.low || at > self.high.wrapping_sub(8) || !at.is_multiple_of(8) {
            return None;
        }
        // SAFETY: within `low..high`, which is readable by the contract of `new`, and aligned. The program's other
        // threads do not write to this thread's frames; if one did, the value would be any value.
        Some(unsafe { (at as *const usize).read_volatile() })
    }

    /// Reads a word of the stack, or one anywhere else if it can be read.
    pub fn any_word(&self, at: usize) -> Option<usize> {
        self.word(at).or_else(|| sys::read_word_checked(at))
    }
}
