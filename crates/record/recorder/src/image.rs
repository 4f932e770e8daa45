//! What the recorder does when it was written into a process from outside, as an image that no loader knows.
//!
//! The collector stops the process, maps memory in it, writes the image there and has one thread of it call [`start`]
//! ([`heapwise_trace::live::image`]). Nothing is interposed by name; functions are entered as those of an allocator inside of a program
//! that was started with the preload library ([`crate::inside`]).

use crate::process::PROCESS;
use crate::unwind::given;
use crate::{guard, inside, real};
use heapwise_trace::live::image::{Parameters, outcome};

/// Joins the session, and has the allocator's functions entered.
///
/// # Safety
/// `parameters` can be read. The thread has a block of its own at its thread pointer, or one that was made for this call.
pub unsafe extern "C" fn start(parameters: *const Parameters) -> u32 {
    let _internal = guard::Internal::begin();
    // SAFETY: the caller's promise.
    let parameters = unsafe { &*parameters };
    real::set_own_code(parameters.start as usize, parameters.end as usize);
    if parameters.frames_start != 0 {
        given::note(parameters.frames_start as usize, parameters.frames_end as usize);
    }
    let len = (parameters.path_len as usize).min(parameters.path.len());
    PROCESS.set_session_path(&parameters.path[..len]);
    if !PROCESS.attach() {
        return outcome::NOT_JOINED;
    }
    inside::look();
    outcome::JOINED
}
