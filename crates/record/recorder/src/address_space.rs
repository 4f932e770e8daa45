//! How much address space the recorder takes where that is limited (`RLIMIT_AS`).
//!
//! What the recorder takes is missing for the program. Without a limit that does not matter: only touched pages cost memory.
//! Below a limit the recorder makes do with less for each thread, and takes no more than a share altogether. A thread that
//! comes too late for that is not recorded, and its events are counted as lost.

use crate::{confined, sys};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The recorder's share is the limit divided by this. It does not count what every process needs.
const SHARE: usize = 8;

/// The limit when it was last read, 0 for none. The program may change it.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// What was taken so far. Inherited by forked children, as the memory itself.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Reads the limit: when the process joins, and when a thread does.
pub fn look() {
    // A filter may kill the program at a call that it does not know.
    if !confined::is_filtered() {
        LIMIT.store(sys::address_space_limit().unwrap_or(0), Ordering::Relaxed);
    }
}

/// The limit, if there is one.
pub fn limit() -> Option<usize> {
    Some(LIMIT.load(Ordering::Relaxed)).filter(|&limit| limit != 0)
}

/// Asks for address space. Returns whether the share has room for it, which is used up then.
pub fn take(bytes: usize) -> bool {
    let share = limit().map_or(usize::MAX, |limit| limit / SHARE);
    let fits = |taken: usize| taken.checked_add(bytes).filter(|&sum| sum <= share);
    TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
}

/// Returns what was taken and not used, or is unmapped again.
pub fn put_back(bytes: usize) {
    TAKEN.fetch_sub(bytes, Ordering::Relaxed);
}

/// Maps private memory from the share, zeroed.
pub fn map_private(bytes: usize) -> Option<*mut u8> {
    if !take(bytes) {
        return None;
    }
    let mapped = sys::map_private(bytes);
    if mapped.is_err() {
        put_back(bytes);
    }
    mapped.ok()
}
