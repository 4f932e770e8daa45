//! Memory for code that a jump of five bytes reaches.
//!
//! Code is written while nothing can execute it, and cannot be written any more once it can be executed: a page takes what one answer
//! of the collector needs near one place, and the next answer gets another page.

use crate::sys::{self, Access, PAGE};

/// How far a jump reaches, with room for the size of an object file's code.
const REACH: usize = (1 << 31) - (64 << 20);
/// Steps in which free memory is looked for.
const STEP: usize = 1 << 20;
/// Pages of a room.
const PAGES: usize = 4;

/// A piece of memory that can be written to until it is closed.
#[derive(Debug)]
pub(super) struct Room {
    start: usize,
    used: usize,
}

impl Room {
    /// Memory near an address; `None` if nothing near it is free.
    pub(super) fn near(address: usize) -> Option<Self> {
        let page = address & !(STEP - 1);
        let steps = 1..REACH / STEP;
        // Below first: behind a program lies its heap, which grows upwards.
        let below = steps.clone().map_while(|n| page.checked_sub(n * STEP).filter(|&at| at > 0));
        let above = steps.map_while(|n| page.checked_add(n * STEP));
        let start = below.chain(above).find_map(|at| sys::map_private_at(at, PAGES * PAGE))?;
        Some(Self { start: start as usize, used: 0 })
    }

    /// Whether code in here can be reached from an address, and has room for so many bytes more.
    pub(super) fn serves(&self, address: usize, bytes: usize) -> bool {
        self.start.abs_diff(address) < REACH && self.used + bytes <= PAGES * PAGE
    }

    /// Takes memory in it, and says where that is.
    pub(super) fn take(&mut self, bytes: usize) -> (usize, &mut [u8]) {
        let at = self.start + self.used;
        self.used = (self.used + bytes).next_multiple_of(16);
        // SAFETY: part of a mapping of our own that is writable until it is closed; each part is taken once.
        (at, unsafe { core::slice::from_raw_parts_mut(at as *mut u8, bytes) })
    }

    /// Makes it code. Returns whether the system allowed it.
    pub(super) fn close(self) -> bool {
        // SAFETY: nothing writes to it any more: it is closed by value, and what was lent has ended.
        unsafe { sys::protect(self.start, PAGES * PAGE, Access::Execute) }.is_ok()
    }
}
