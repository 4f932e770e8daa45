//! What the preload library does when it is loaded.

use crate::process::PROCESS;
use crate::unwind::module::Found;
use crate::unwind::modules;
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
        if !real::knows_objects() {
            modules::find_all();
            real::identify_by_file(|address| match modules::find(address) {
                Found::Module(module) => Some((module.start, module.end)),
                _ => None,
            });
        }
        PROCESS.describe_allocator(header);
        if let Some(malloc) = real::malloc_in_front() {
            header.malloc_in_front.store(malloc as u64, Ordering::Release);
        }
        // Constructors of libraries come first, and may have started threads, which may be in what would be changed.
        if sys::thread_count() == Some(1) {
            inside::loaded::watch(real::loader_list(), inside::look);
            inside::look();
        }
    }
}
