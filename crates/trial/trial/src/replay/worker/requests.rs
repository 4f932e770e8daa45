//! What the parent requests from the allocator at the end: its own statistics, and the return of free pages to the system.

use crate::replay::shared::{Header, wish};
use heapwise_allocators::own_statistics;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Does what is wished for, if there is something. The first thread that stays does it.
pub(super) fn fulfil(header: &Header) {
    for (what, how) in [(wish::TELL, tell as fn(&Header) -> bool), (wish::PURGE, purge)] {
        let took = header.wish.compare_exchange(what, wish::TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if took.is_ok() {
            let done = if how(header) { wish::DONE } else { wish::NOT_POSSIBLE };
            header.wish.store(done, Ordering::Release);
        }
    }
}

fn tell(header: &Header) -> bool {
    // Collecting statistics takes a little memory, and an allocator that gets none would end this process.
    if header.refused.load(Ordering::Relaxed) > 0 {
        return false;
    }
    let Some(own) = own_statistics() else { return false };
    for (place, number) in header.own.iter().zip(own.numbers()) {
        place.store(number, Ordering::Relaxed);
    }
    true
}

/// Returns free pages to the system, by the call that the allocator has for it: that of our own libraries, or the C library's.
fn purge(_: &Header) -> bool {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"heapwise_allocator_purge".as_ptr()) };
    if found.is_null() {
        // SAFETY: an integer argument.
        unsafe { libc::malloc_trim(0) };
        return true;
    }
    // SAFETY: a function of this name takes nothing and returns an integer.
    let purge: extern "C" fn() -> c_int = unsafe { std::mem::transmute(found) };
    purge();
    true
}
