//! Signals: what the user sends to `heapwise run` is meant for the program.
//!
//! A key press (Ctrl-C, Ctrl-\) reaches the program by itself, since the terminal sends it to everybody in the
//! foreground; what another process sends to us alone is passed on. The second interrupt is for us: stop at once.
//! So is `SIGUSR2`: look at the pages now.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

static PROGRAM: AtomicI32 = AtomicI32::new(0);
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
static SNAPSHOTS: AtomicU32 = AtomicU32::new(0);

/// The one signal that is meant for us: look at the pages now.
const SNAPSHOT: libc::c_int = libc::SIGUSR2;

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    if signal == libc::SIGINT {
        INTERRUPTS.fetch_add(1, Ordering::Relaxed);
    }
    if signal == SNAPSHOT {
        SNAPSHOTS.fetch_add(1, Ordering::Relaxed);
        return;
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

/// Makes writing beyond the limit on file sizes (`ulimit -f`) an error that can be told, instead of the end of this
/// process. A handler, since programs that are started would inherit that a signal is ignored.
pub fn survive_size_limit() {
    // SAFETY: zeroed memory is a valid sigaction; the handler does nothing. A failure leaves things as they were.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_size_limit as *const () as usize;
        libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut());
    }
}

/// Passes signals on from now on, but for those that are ignored: `nohup`, and shells without job control for what they start in
/// the background, mean heapwise as well as the program.
///
/// # Errors
/// The system's.
pub fn install() -> io::Result<()> {
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

/// How often somebody asked for a look at the pages.
pub fn snapshots_wanted() -> u32 {
    SNAPSHOTS.load(Ordering::Relaxed)
}

/// How often the user pressed Ctrl-C.
pub fn interrupts() -> u32 {
    INTERRUPTS.load(Ordering::Relaxed)
}
