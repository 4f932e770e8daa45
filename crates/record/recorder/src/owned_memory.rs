//! The memory that an image has mapped, so that it can be returned when the recorder leaves a process that goes on.
//!
//! A preload library stays until the process ends, and keeps no list.

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwise_trace::live::layout::MAX_RINGS;

/// Most mappings: each thread has one for its state and one for its tables, and the rest are few.
const MOST: usize = 3 * MAX_RINGS;

/// A mapping. A length of 0 is none.
struct Owned {
    at: AtomicUsize,
    len: AtomicUsize,
}

static OWNED: [Owned; MOST] = [const { Owned { at: AtomicUsize::new(0), len: AtomicUsize::new(0) } }; MOST];
/// Places that were ever used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Whether a list is kept.
const IS_KEPT: bool = cfg!(any(feature = "image", test));

fn used() -> &'static [Owned] {
    &OWNED[..USED.load(Ordering::Acquire).min(MOST)]
}

/// Notes a new mapping. What has no place stays when the recorder leaves.
pub(crate) fn note(at: *mut u8, len: usize) {
    if !IS_KEPT {
        return;
    }
    let is_taken =
        |place: &Owned| place.len.compare_exchange(0, len, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let place = used().iter().find(|place| is_taken(place));
    let place = place.or_else(|| {
        let new = OWNED.get(USED.fetch_add(1, Ordering::AcqRel))?;
        is_taken(new).then_some(new)
    });
    if let Some(place) = place {
        place.at.store(at as usize, Ordering::Release);
    }
}

/// Forgets a mapping that is about to be unmapped.
pub(crate) fn forget(at: *mut u8) {
    if !IS_KEPT {
        return;
    }
    let place = used().iter().find(|place| place.at.load(Ordering::Acquire) == at as usize);
    if let Some(place) = place {
        place.at.store(0, Ordering::Relaxed);
        place.len.store(0, Ordering::Release);
    }
}

/// Calls back with all of them.
pub(crate) fn each(mut found: impl FnMut(*mut u8, usize)) {
    for place in used() {
        let (at, len) = (place.at.load(Ordering::Acquire), place.len.load(Ordering::Acquire));
        if at != 0 && len != 0 {
            found(at as *mut u8, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again() {
        let has = |at: usize| used().iter().any(|place| place.at.load(Ordering::Relaxed) == at);
        note(0x1000 as *mut u8, 4096);
        note(0x9000 as *mut u8, 8192);
        assert!(has(0x1000) && has(0x9000));
        forget(0x1000 as *mut u8);
        assert!(!has(0x1000) && has(0x9000));
        forget(0x9000 as *mut u8);
        assert!(!has(0x9000));
    }
}
