//! What the recorder does when it was written into a process from outside, as an image that no loader knows.
//!
//! The collector stops the process, maps memory in it, writes the image there and has one thread of it call [`enter`]
//! ([`heapwise_trace::live::image`]), and once more before it unmaps the image. Nothing is interposed by name; functions are entered as those of an allocator inside of a program
//! that was started with the preload library ([`crate::inside`]).

use crate::process::PROCESS;
use crate::unwind::{given, modules};
use crate::{guard, inside, owned_memory, real, sys, thread_table};
use heapwise_trace::live::image::{Parameters, action, outcome};

/// Does what the parameters say.
///
/// # Safety
/// `parameters` can be read. The thread has a block of its own at its thread pointer, or one that was made for this call. To leave, the
/// process's other threads are stopped, and no code leads to the image.
pub unsafe extern "C" fn enter(parameters: *const Parameters) -> u32 {
    // SAFETY: the caller's promise.
    let parameters = unsafe { &*parameters };
    match parameters.action {
        // SAFETY: the caller's promise.
        action::LEAVE => unsafe { leave() },
        _ => {
            let outcome = start(parameters);
            thread_table::give_up_unused();
            outcome
        }
    }
}

/// Joins the session, and has the allocator's functions entered.
fn start(parameters: &Parameters) -> u32 {
    let _internal = guard::Internal::begin();
    real::set_own_code(parameters.start as usize, parameters.end as usize);
    if parameters.frames_start != 0 {
        given::note(parameters.frames_start as usize, parameters.frames_end as usize);
    }
    if parameters.session != 0 {
        real::set_find_object(parameters.find_object as usize);
        inside::loaded::watch(parameters.loader_list as usize, inside::look);
        // SAFETY: the collector has just mapped it there, and unmaps it with the image.
        unsafe { PROCESS.give_session(parameters.session as *mut _, parameters.has_other_ids != 0) };
    }
    let len = (parameters.path_len as usize).min(parameters.path.len());
    PROCESS.set_session_path(&parameters.path[..len]);
    if !PROCESS.attach() {
        return outcome::NOT_JOINED;
    }
    if parameters.find_object == 0 {
        modules::find_all();
    }
    inside::look();
    outcome::JOINED
}

/// Returns all memory to the system but the image's own, unless a thread is at work in here.
///
/// # Safety
/// The process's other threads are stopped, and no code leads here any more.
unsafe fn leave() -> u32 {
    PROCESS.leave();
    // A library whose file is gone is not known outside.
    if thread_table::is_any_at_work() || inside::leads_here() {
        return outcome::BUSY;
    }
    // SAFETY: what no thread is at work in, none will be: that is the caller's promise. The calling thread uses its stack from here on,
    // and the image's own memory, neither of which is in the list.
    unsafe { owned_memory::each(|at, len| sys::unmap(at, len)) };
    outcome::LEFT
}
