//! What the preload library does when it is loaded.

use crate::process::PROCESS;
use crate::{guard, inside, loadable, real, sys};
use core::sync::atomic::Ordering;

/// Attaches the process before its first allocation, so that one which never allocates is seen, too.
pub fn start() {
    let _internal = guard::Internal::begin();
    loadable::start();
    if real::resolve()
        && PROCESS.attach()
        && let Some(header) = PROCESS.header()
    {
        PROCESS.describe_allocator(header);
        if let Some(malloc) = real::malloc_in_front() {
            header.malloc_in_front.store(malloc as u64, Ordering::Release);
        }
        // Constructors of libraries come first, and may have started threads, which may be in what would be changed.
        if sys::thread_count() == Some(1) {
            inside::loaded::watch(real::next_function(c"_r_debug") as usize, inside::look);
            inside::look();
        }
    }
}
