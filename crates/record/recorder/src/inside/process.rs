//! What a program that is linked statically does with its threads, and its end. A library stands in front of these functions by their
//! names ([`crate::lifecycle`]).

use super::slots::Slot;
use crate::arch::entry::Arguments;
use crate::arch::tls;
use crate::process::PROCESS;
use crate::{exit_handshake, lifecycle, sandbox};
use core::ffi::{CStr, c_char, c_int};

/// `_exit`: the process is about to end, unless it is one that has only borrowed this one's memory (`vfork`).
pub(super) extern "C" fn exit(_: *const Arguments) {
    if PROCESS.is_this_one() {
        exit_handshake::say();
    }
}

/// `syscall`.
///
/// # Safety
/// `call` has the arguments of a call.
pub(super) unsafe extern "C" fn system_call(call: *const Arguments) {
    // SAFETY: the caller's promise; these are in registers, whether the call has them or not.
    let (number, a, b, caller) = unsafe { ((*call).at(0), (*call).at(1), (*call).at(2), (*call).caller()) };
    sandbox::before_system_call(number, a, b, caller);
}

/// `prctl`.
///
/// # Safety
/// As the function of the slot; `sp` is the stack pointer of the caller, as the shim found it.
pub(super) unsafe extern "C" fn prctl(
    option: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    sp: usize,
    _fp: usize,
    slot: &Slot,
) -> usize {
    // SAFETY: the slot's function, which has no more arguments.
    let real = unsafe { slot.function_of_six() };
    // SAFETY: the stack pointer at the entry, where the caller's return address lies.
    let caller = unsafe { (sp as *const usize).read_volatile() };
    // SAFETY: the caller's call.
    let call = || tls::waiting(tls::words(), || unsafe { real(option, a, b, c, d, e) }) as c_int;
    sandbox::around_prctl(option as c_int, a, caller, call) as usize
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($a:ident, $b:ident) => $after:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of the slot; what follows its arguments are the caller's registers, and are not looked at.
        pub(super) unsafe extern "C" fn $name(
            $a: usize,
            $b: usize,
            c: usize,
            d: usize,
            e: usize,
            f: usize,
            _sp: usize,
            _fp: usize,
            slot: &Slot,
        ) -> usize {
            // SAFETY: the slot's function, which has no more arguments.
            let real = unsafe { slot.function_of_six() };
            // SAFETY: the caller's call.
            let error = tls::waiting(tls::words(), || unsafe { real($a, $b, c, d, e, f) });
            if error as u32 == 0 {
                $after
            }
            error
        }
    )*};
}

functions! {
    /// `pthread_create`.
    thread_create(thread, attributes) => {
        // SAFETY: the function has stored the handle there.
        lifecycle::thread_created(unsafe { (thread as *const u64).read_volatile() });
    }
    /// `pthread_join`.
    thread_join(thread, result) => {
        lifecycle::thread_joined(thread as u64);
    }
    /// `pthread_setname_np`.
    thread_name(thread, name) => {
        // SAFETY: a C string, as the function has just accepted it.
        let name = unsafe { CStr::from_ptr(name as *const c_char) }.to_bytes();
        crate::thread::rename(thread as u64, name);
    }
}
