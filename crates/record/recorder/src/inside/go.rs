//! What a program in Go starts: it makes the system call by itself, where no function of the C library is.

use crate::arch::entry::Arguments;
use crate::arch::syscall::number;
use crate::{confined, loadable, sys};

crate::shim_of_go!(system_call_shim => before_system_call, confined::FILTERED);
crate::shim_of_go_on_stack!(system_call_on_stack_shim => system_call_shim);

/// How the function that makes system calls is entered.
pub(super) fn system_call() -> usize {
    system_call_shim as *const () as usize
}

/// The same of those that have their arguments on the stack.
pub(super) fn system_call_on_stack() -> usize {
    system_call_on_stack_shim as *const () as usize
}

/// Called before a system call that executes a program. The functions of C have the arguments of their system calls. Go sends signals to
/// its threads all the time, which would interrupt each wait.
///
/// # Safety
/// `call` has the arguments of such a call, of that number.
unsafe extern "C" fn before_system_call(call: *const Arguments, number: usize) {
    let signals = sys::hold_signals();
    if number == number::EXECVE {
        // SAFETY: the caller's promise.
        unsafe { loadable::before_execve(call) };
    } else {
        // SAFETY: the same, of the other number.
        unsafe { loadable::before_execveat(call) };
    }
    sys::release_signals(signals);
}
