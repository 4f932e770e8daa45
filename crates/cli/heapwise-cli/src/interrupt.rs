//! Interrupts of long measurements: the first one ends the measuring, and the results so far are reported; the second one ends
//! heapwise and its child processes.

use crate::{exit, inherited};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// Becomes true at the first interrupt, or when the terminal is closed. From now on the signal no longer ends the process.
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(interrupted) = FLAG.get() {
        return Ok(Arc::clone(interrupted));
    }
    let interrupted = Arc::clone(FLAG.get_or_init(Arc::default));
    let (mut reader, writer) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // A user who starts heapwise with nohup means it to go on without a terminal; the same holds for the other signals.
        if inherited::is_ignored(signal) {
            continue;
        }
        flag::register(signal, Arc::clone(&interrupted))?;
        low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    // A thread and not a handler: measured programs have their own process groups and sessions, which have to be looked up.
    std::thread::spawn(move || {
        let mut two = [0; 2];
        if reader.read_exact(&mut two).is_ok() {
            heapwise_trial::supervise::end_everything();
            std::process::exit(exit::INTERRUPTED.into());
        }
    });
    Ok(interrupted)
}
