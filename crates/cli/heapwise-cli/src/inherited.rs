//! What this process was started with, and does not keep for itself: closed standard descriptors and ignored signals.
//!
//! Rust's runtime opens `/dev/null` on closed standard descriptors and ignores `SIGPIPE`, both before `main`. A program that
//! heapwise starts for the user has to find what it would find without heapwise, so this is noted before the runtime begins.

#![expect(unsafe_code, reason = "runs before main, and between fork and exec")]

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Bit n: descriptor n was closed.
static CLOSED: AtomicI32 = AtomicI32::new(0);
/// Bit n - 1: signal n was ignored.
static IGNORED: AtomicU64 = AtomicU64::new(0);

const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;

/// Runs when this program is loaded, before Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = {
    extern "C" fn note() {
        // SAFETY: an integer argument; only checks whether the descriptor is open.
        let closed = (0..3).filter(|&fd| unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0);
        CLOSED.store(closed.fold(0, |set, fd| set | 1 << fd), Ordering::Relaxed);
        let ignored = SIGNALS.filter(|&signal| {
            // SAFETY: zeroed memory is a valid sigaction, which the kernel fills in; nothing is changed.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                    && action.sa_sigaction == libc::SIG_IGN
            }
        });
        IGNORED.store(ignored.fold(0, |set, signal| set | 1 << (signal - 1)), Ordering::Relaxed);
        if is_ignored(libc::SIGCHLD) {
            // The kernel would not keep the exit codes of our own children.
            // SAFETY: integer arguments; no other thread runs yet.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        }
    }
    note
};

/// Whether this process was started with the signal ignored.
pub(crate) fn is_ignored(signal: i32) -> bool {
    SIGNALS.contains(&signal) && IGNORED.load(Ordering::Relaxed) >> (signal - 1) & 1 == 1
}

/// Starts a command with what this process was started with. Handlers need nothing: `exec` resets them.
pub(crate) fn forward(command: &mut Command) {
    restore(command, CLOSED.load(Ordering::Relaxed));
}

/// The same for a command whose standard descriptors are set by the caller.
pub(crate) fn forward_signals(command: &mut Command) {
    restore(command, 0);
}

fn restore(command: &mut Command, closed: i32) {
    let ignored = IGNORED.load(Ordering::Relaxed);
    let restore = move || {
        for signal in SIGNALS.filter(|signal| ignored >> (signal - 1) & 1 == 1) {
            // SAFETY: integer arguments. A signal that the kernel does not let us ignore was not ignored before.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        for fd in (0..3).filter(|fd| closed >> fd & 1 == 1) {
            // SAFETY: the child's copy of a descriptor that nothing here uses before `exec`.
            unsafe { libc::close(fd) };
        }
        Ok(())
    };
    // Needed even if there is nothing to do: without it, std would call `posix_spawn`, and glibc's ignores two signals in the
    // child.
    // SAFETY: runs in the child between fork and exec, and makes system calls with integer arguments only.
    unsafe { command.pre_exec(restore) };
}
