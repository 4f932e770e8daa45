//! What the preload library does when it is loaded.

use crate::process::PROCESS;
use crate::{guard, inside, loadable, real};

/// Attaches the process before its first allocation, so that one which never allocates is seen, too.
pub fn start() {
    let _internal = guard::Internal::begin();
    loadable::start();
    if real::resolve()
        && PROCESS.attach()
        && let Some(header) = PROCESS.header()
    {
        PROCESS.describe_allocator(header);
        inside::look();
        inside::loaded::watch();
    }
}
