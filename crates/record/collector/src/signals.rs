//! Signals: what the user sends to `heapwise run` is meant for the program.
//!
//! A key press (Ctrl-C, Ctrl-\) reaches the program by itself, since the terminal sends it to all foreground
//! processes; what another process sends to us alone is passed on. The second interrupt is for us: stop at once; so is the third
//! `SIGTERM` with `--wait`, and whatever ends programs when the program has ended. `SIGUSR2` is for us, too: it
//! requests a snapshot of the pages.
//!
//! Stopping takes a moment: what was recorded is written. If that blocks, the second interrupt still ends this process
//! in a bounded time. A separate thread does that, which waits for no other thread.

#![expect(unsafe_code, reason = "handles signals")]

use crate::sys;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

static PROGRAM: AtomicI32 = AtomicI32::new(0);
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
static TERMINATIONS: AtomicU32 = AtomicU32::new(0);
static REQUESTS_TO_END: AtomicU32 = AtomicU32::new(0);
static SNAPSHOTS: AtomicU32 = AtomicU32::new(0);

/// The one signal that is meant for us: take a snapshot of the pages now.
const SNAPSHOT: libc::c_int = libc::SIGUSR2;

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    if signal == SNAPSHOT {
        SNAPSHOTS.fetch_add(1, Ordering::Relaxed);
        return;
    }
    if signal == libc::SIGINT {
        INTERRUPTS.fetch_add(1, Ordering::Relaxed);
        // Nothing but a system call, as a handler may make.
        sys::futex_wake(INTERRUPTS.as_ptr());
    }
    if signal == libc::SIGTERM {
        TERMINATIONS.fetch_add(1, Ordering::Relaxed);
    }
    if signal != libc::SIGUSR1 {
        REQUESTS_TO_END.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the kernel hands a valid structure to a handler installed with SA_SIGINFO.
    let sent_by_process = unsafe { (*info).si_code } <= 0;
    let program = PROGRAM.load(Ordering::Relaxed);
    if sent_by_process && program > 0 {
        // SAFETY: kill may be called in a signal handler.
        unsafe { libc::kill(program, signal) };
    }
}

extern "C" fn on_size_limit(_signal: libc::c_int) {}

/// Makes writing beyond the limit on file sizes (`ulimit -f`) an error that can be reported, instead of the end of this
/// process. Installs a handler, since programs that are started would inherit an ignored signal.
pub fn survive_size_limit() {
    // SAFETY: zeroed memory is a valid sigaction; the handler does nothing. A failure leaves things as they were.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_size_limit as *const () as usize;
        libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut());
    }
}

/// Time allowed for stopping after the second interrupt.
const GRACE: Duration = Duration::from_secs(3);

/// Waits for the second interrupt, and then ends this process by `leave` if it has not ended by itself until then.
fn watch(leave: impl FnOnce()) {
    loop {
        let seen = INTERRUPTS.load(Ordering::Relaxed);
        if seen > 1 {
            break;
        }
        sys::futex_wait(&INTERRUPTS, seen, Duration::from_secs(3600));
    }
    std::thread::sleep(GRACE);
    leave();
}

/// Passes signals on from now on, but for those that are ignored: `nohup`, and shells without job control for what they start in
/// the background, mean heapwise as well as the program. `leave` ends this process, where nothing else does after a second
/// interrupt.
///
/// # Errors
/// The system's.
pub fn install(leave: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("interrupts".into()).spawn(|| watch(leave))?;
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, SNAPSHOT] {
        // SAFETY: zeroed memory is a valid sigaction, which the kernel fills in; the handler only uses atomics and kill.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            if action.sa_sigaction == libc::SIG_IGN && signal != SNAPSHOT {
                continue;
            }
            action = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut())
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Names the program that signals are passed on to; 0 for none.
pub fn pass_on_to(pid: i32) {
    PROGRAM.store(pid, Ordering::Relaxed);
}

/// How often a snapshot of the pages was requested.
pub fn snapshots_wanted() -> u32 {
    SNAPSHOTS.load(Ordering::Relaxed)
}

/// How often a signal arrived that ends programs.
pub fn requests_to_end() -> u32 {
    REQUESTS_TO_END.load(Ordering::Relaxed)
}

/// Whether the user has interrupted often enough to stop at once: twice by Ctrl-C, or three times by `SIGTERM` if
/// heapwise is to wait for everything that the program leaves behind.
pub fn is_impatient(waits: bool) -> bool {
    INTERRUPTS.load(Ordering::Relaxed) > 1 || (waits && TERMINATIONS.load(Ordering::Relaxed) > 2)
}
