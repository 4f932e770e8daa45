//! The recorded blocks that are live, where only a sample of blocks is recorded.

use crate::address_space;
use crate::arch::probes;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use heapwise_trace::sampling::noted::{CLASSES, Line, Noted, USUAL_BYTES, lines, may_have};

/// A forked child goes on with a copy of its parent's: it frees blocks of its parent.
#[derive(Debug)]
pub struct Sampled {
    /// The classes, and the lines behind them; null as long as nothing has to be sampled.
    memory: AtomicPtr<[AtomicU8; CLASSES]>,
    lines: AtomicUsize,
}

impl Sampled {
    pub const fn new() -> Self {
        Self { memory: AtomicPtr::new(core::ptr::null_mut()), lines: AtomicUsize::new(0) }
    }

    /// Makes room for the blocks of a process of which at most so many bytes lie between two that are recorded; `None` if there is no
    /// memory. The caller holds the lock of the process.
    pub fn begin(&self, sample_bytes: u64) -> Option<()> {
        if !self.memory.load(Ordering::Relaxed).is_null() {
            return Some(());
        }
        let lines = lines(sample_bytes, USUAL_BYTES);
        let memory = address_space::map_private(CLASSES + lines * size_of::<Line>())?;
        self.lines.store(lines, Ordering::Relaxed);
        self.memory.store(memory.cast(), Ordering::Release);
        Some(())
    }

    /// Where the classes are from the beginning of a sample on; they stay there.
    pub(crate) fn classes(&self) -> Option<&'static [AtomicU8; CLASSES]> {
        // SAFETY: null, or the start of memory that stays mapped as long as the recorder is in the process, zeroed at first; any bytes are
        // valid for atomics, which may be shared, and nothing has a reference to it that is not to atomics.
        unsafe { self.memory.load(Ordering::Acquire).as_ref() }
    }

    fn noted(&self) -> Option<Noted<'static>> {
        let classes = self.classes()?;
        let lines = self.lines.load(Ordering::Relaxed);
        // SAFETY: so many lines follow the classes in the same mapping, aligned to a page and so to a line; they are atomics, for which
        // zeroes are valid.
        let lines =
            unsafe { core::slice::from_raw_parts(core::ptr::from_ref(classes).add(1).cast::<Line>(), lines) };
        Noted::new(classes, lines)
    }

    /// Notes a block that is recorded; `false` if there is no room.
    #[cold]
    #[inline(never)]
    pub fn insert(&self, block: usize) -> bool {
        self.noted().is_some_and(|noted| noted.insert(block as u64))
    }

    /// Whether a block may be one that is recorded.
    #[inline(always)]
    pub fn may_have(&self, block: usize) -> bool {
        self.classes().is_some_and(|classes| may_have(classes, block as u64))
    }

    /// Forgets a block that is given up; `false` if it is not recorded.
    #[inline(always)]
    pub fn remove(&self, block: usize) -> bool {
        self.may_have(block) && self.remove_noted(block)
    }

    #[cold]
    #[inline(never)]
    fn remove_noted(&self, block: usize) -> bool {
        let was_noted = self.noted().is_some_and(|noted| noted.remove(block as u64));
        if was_noted {
            probes::freed(block);
        }
        was_noted
    }
}

impl Default for Sampled {
    fn default() -> Self {
        Self::new()
    }
}
