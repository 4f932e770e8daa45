//! Interrupts of measurements that take long: the first one ends the measuring, and what was measured is told; the second one
//! ends heapwise, and what it runs.

use crate::{exit, inherited};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// Becomes true with the first interrupt, or when the terminal is gone. From now on that does not end the process any more.
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(interrupted) = FLAG.get() {
        return Ok(Arc::clone(interrupted));
    }
    let interrupted = Arc::clone(FLAG.get_or_init(Arc::default));
    let (mut heard, told) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Who starts heapwise with nohup wants it to go on without a terminal, and so for the others.
        if inherited::is_ignored(signal) {
            continue;
        }
        flag::register(signal, Arc::clone(&interrupted))?;
        low_level::pipe::register(signal, told.try_clone()?)?;
    }
    // A thread and not a handler: what is run has groups and sessions of its own, which have to be looked for.
    std::thread::spawn(move || {
        let mut two = [0; 2];
        if heard.read_exact(&mut two).is_ok() {
            heapwise_trial::supervise::end_everything();
            std::process::exit(exit::INTERRUPTED.into());
        }
    });
    Ok(interrupted)
}
