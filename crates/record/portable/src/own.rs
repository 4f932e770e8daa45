//! Threads that work for heapwise, beside those of the program.

use crate::{local, system};
use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread of heapwise's own: nothing of what it does is noted, and it takes none of the program's signals.
///
/// # Errors
/// The system has no thread left.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let run = move || {
        local::stay_busy();
        work()
    };
    system::with_signals_blocked(|| Builder::new().name(name.to_owned()).spawn(run))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Signals that a thread does not take, as the system says it.
    fn blocked() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("the system says it");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("it is among it");
        u64::from_str_radix(mask.trim(), 16).expect("a number")
    }

    #[test]
    fn signals_are_the_programs() {
        let before = blocked();
        let (there, is_busy) = spawn("own", || (blocked(), local::Busy::enter().is_none()))
            .expect("a thread")
            .join()
            .expect("it ends");
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGALRM] {
            assert!(there >> (signal - 1) & 1 == 1, "{signal} is not blocked: {there:x}");
        }
        assert!(is_busy);
        assert_eq!(blocked(), before, "the thread that starts it has what it had");
    }
}
