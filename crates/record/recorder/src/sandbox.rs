//! Interposed functions by which a program may confine itself: the recorder has to know before it is done ([`confined`]).
//!
//! What a program does with its own instructions, without a call of these functions, is not seen.

use crate::arch::entry::Entry;
use crate::arch::tls;
use crate::confined;
use crate::forward;
use crate::lifecycle::name_thread;
use crate::process::PROCESS;
use crate::real::real_or;
use crate::sys;
use crate::turn::begin;
use crate::unwind::modules;
use core::ffi::c_int;
use core::sync::atomic::Ordering;

/// What a call would forbid the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confinement {
    /// To read the processor's clock.
    Clock,
    /// Some system calls.
    Filter,
    /// All system calls but four, and the clock.
    Strict,
}

/// Kinds of [`confine`]; their indices are passed to the recorder in a program.
const KINDS: [Confinement; 3] = [Confinement::Clock, Confinement::Filter, Confinement::Strict];
/// The kind that says that strict mode was refused.
const NOT_STRICT: u32 = KINDS.len() as u32;

impl Confinement {
    fn of_prctl(option: usize, value: usize) -> Option<Self> {
        const PR_SET_SECCOMP: usize = 22;
        const PR_SET_TSC: usize = 26;
        match (option, value) {
            (PR_SET_TSC, 2) => Some(Self::Clock),
            (PR_SET_SECCOMP, 1) => Some(Self::Strict),
            (PR_SET_SECCOMP, 2) => Some(Self::Filter),
            _ => None,
        }
    }

    fn of_system_call(number: usize, a: usize, b: usize) -> Option<Self> {
        match (number, a) {
            (sys::PRCTL, _) => Self::of_prctl(a & 0xffff_ffff, b),
            (sys::SECCOMP, 0) => Some(Self::Strict),
            (sys::SECCOMP, 1) => Some(Self::Filter),
            _ => None,
        }
    }

    /// Does the call, and has the recorder know of it before.
    fn around(self, caller: usize, call: impl FnOnce() -> isize) -> isize {
        tell(self as u32, caller);
        let result = call();
        if self == Self::Strict && result != 0 {
            tell(NOT_STRICT, caller);
        }
        result
    }
}

/// Notifies this recorder, and the one in the program.
fn tell(kind: u32, caller: usize) {
    confine(kind, caller);
    if let Some(target) = forward::target() {
        (target.confine)(kind, caller);
    }
}

/// Prepares for what the program is about to forbid itself, and notes it.
pub(crate) extern "C" fn confine(kind: u32, caller: usize) {
    match KINDS.get(kind as usize) {
        Some(Confinement::Clock) => {
            confined::forbid_clock();
            note_no_clock();
        }
        Some(Confinement::Filter) => {
            prepare(caller);
            confined::filter();
        }
        Some(Confinement::Strict) => {
            prepare(caller);
            confined::set_strict(true);
            note_no_clock();
        }
        None => confined::set_strict(false),
    }
}

/// Notes for the report that times are not measured.
fn note_no_clock() {
    if let Some(header) = PROCESS.header() {
        header.no_clock.store(1, Ordering::Relaxed);
    }
}

/// Does now what needs system calls, and what the next allocation may need.
fn prepare(caller: usize) {
    let here = 0usize;
    let entry = Entry { stack_pointer: &raw const here as usize, frame_pointer: 0 };
    // This attaches the thread.
    let Some(turn) = begin(tls::words(), entry) else { return };
    turn.thread.stack.stacks.switch_to(entry.stack_pointer);
    // Publishes the module, with a name that is asked of the kernel.
    modules::find(caller);
    PROCESS.region.map_ahead();
}

/// `syscall` in a program that is linked statically, before it is made: what it confines is taken to be confined.
pub(crate) fn before_system_call(number: usize, a: usize, b: usize, caller: usize) {
    if let Some(confinement) = Confinement::of_system_call(number, a, b) {
        confine(confinement as u32, caller);
    }
}

/// `prctl`, with which a thread may also name itself. `caller` is the address to which it returns.
///
/// # Safety
/// As the C function.
pub unsafe extern "C" fn prctl(
    option: c_int,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    _: usize,
    caller: usize,
) -> c_int {
    let real = real_or!(prctl, -1);
    // SAFETY: the caller's call.
    around_prctl(option, a, caller, || unsafe { real(option, a, b, c, d) })
}

/// Does a call of `prctl` with these first arguments.
pub(crate) fn around_prctl(option: c_int, a: usize, caller: usize, call: impl FnOnce() -> c_int) -> c_int {
    const PR_SET_NAME: c_int = 15;
    if let Some(confinement) = Confinement::of_prctl(option as usize, a) {
        return confinement.around(caller, || call() as isize) as c_int;
    }
    let result = call();
    if option == PR_SET_NAME && result == 0 {
        let name = sys::thread_name();
        let bytes = name.map(u64::to_le_bytes);
        name_thread(tls::thread_pointer() as u64, bytes.as_flattened());
    }
    result
}

/// `syscall` with a number that [`watched_system_calls`](crate::watched_system_calls) lets through to here.
///
/// # Safety
/// As the C function; none of these calls has a sixth argument.
pub unsafe extern "C" fn watched_system_call(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    caller: usize,
) -> isize {
    let real = real_or!(syscall, -1);
    // SAFETY: the caller's call.
    let call = || unsafe { real(number, a, b, c, d, e, 0) };
    match Confinement::of_system_call(number, a, b) {
        Some(confinement) => confinement.around(caller, call),
        None => call(),
    }
}

/// `syscall` with any other number, before it is known where the real function is.
///
/// # Safety
/// As the C function. An argument that the caller has not passed may be anything.
pub unsafe extern "C" fn early_system_call(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    let real = real_or!(syscall, -1);
    // SAFETY: the caller's call.
    unsafe { real(number, a, b, c, d, e, f) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_would_forbid_is_known_however_it_is_made() {
        assert_eq!(Confinement::of_prctl(26, 2), Some(Confinement::Clock));
        assert_eq!(Confinement::of_prctl(26, 1), None, "the clock is allowed");
        assert_eq!(Confinement::of_prctl(22, 1), Some(Confinement::Strict));
        assert_eq!(Confinement::of_prctl(15, 1), None, "a name");
        assert_eq!(Confinement::of_system_call(157, 22, 2), Some(Confinement::Filter));
        assert_eq!(Confinement::of_system_call(317, 0, 0), Some(Confinement::Strict));
        assert_eq!(Confinement::of_system_call(317, 1, 0), Some(Confinement::Filter));
        assert_eq!(Confinement::of_system_call(317, 2, 0), None, "only a question");
        assert_eq!(Confinement::of_system_call(39, 26, 2), None);
    }
}
