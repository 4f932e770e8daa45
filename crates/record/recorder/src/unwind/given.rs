//! A table of frame descriptions that was made outside, for a program whose file has none.

use super::elf::bytes;
use super::module::Module;
use core::sync::atomic::{AtomicUsize, Ordering};

static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Where such a table has the address of the descriptions: behind its version and three encodings.
const FRAMES_AT: usize = 4;

/// Notes the table, which stays for the rest of the process's life.
pub(crate) fn note(start: usize, end: usize) {
    END.store(end, Ordering::Relaxed);
    START.store(start, Ordering::Release);
}

/// The table, if it is that of this module.
pub(super) fn of(module: &Module) -> Option<&'static [u8]> {
    let start = START.load(Ordering::Acquire);
    if start == 0 {
        return None;
    }
    let table = bytes(start, END.load(Ordering::Relaxed))?;
    let frames = usize::from_ne_bytes(table.get(FRAMES_AT..)?.first_chunk().copied()?);
    (module.start..module.end).contains(&frames).then_some(table)
}
