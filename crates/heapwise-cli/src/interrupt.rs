//! Interrupts of measurements that take long: the first one ends the measuring, and what was measured is told; the second one
//! ends heapwise.

use crate::exit;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// Becomes true with the first interrupt. From now on that does not end the process any more.
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(interrupted) = FLAG.get() {
        return Ok(Arc::clone(interrupted));
    }
    let interrupted = Arc::clone(FLAG.get_or_init(Arc::default));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, exit::INTERRUPTED.into(), Arc::clone(&interrupted))?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}
