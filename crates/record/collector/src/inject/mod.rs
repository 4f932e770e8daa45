//! Writes the recorder into a process that no library can be preloaded into.
//!
//! The process is stopped: a program that is linked statically at its first instruction, one that runs already wherever it is. It is
//! made to map memory, in which the recorder's [`image`] is laid out as a loader would; then it is made to call the image's first
//! function, on a stack of that function's own. When that returns, the process has joined the session as any other, and goes on where
//! it was.

pub(crate) mod attach;
pub(crate) mod attached;
pub(crate) mod children;
pub(crate) mod detach;
mod escape;
mod frames;
mod guest;
pub(crate) mod helper;
pub(crate) mod image;
mod jumps;
mod layout;
pub(crate) mod prepared;
mod refused;
mod remains;
mod requests;
mod seccomp;
mod stacks;
mod thread;
mod threads;
mod tracee;
mod tracer;
mod variables;
mod way_back;

use guest::Guest;
use heapwise_trace::live::image::{Parameters, action, outcome};
use image::Image;
pub(crate) use refused::Refused;
use thread::Thread;
use tracee::Tracee;

/// Has a child join the session that was just started, and that has asked to be traced by the calling thread. It goes on afterwards,
/// recorded or not.
pub(crate) fn at_start(pid: u32, image: &Image, session: &str) -> Result<(), Refused> {
    match Tracee::at_start(pid)? {
        Some(tracee) => write_at_start(tracee, image, session),
        // Whoever waits for it hears of its end.
        None => Ok(()),
    }
}

/// The same for a stopped process that has just begun with a new program.
fn write_at_start(mut tracee: Tracee, image: &Image, session: &str) -> Result<(), Refused> {
    let thread = tracee.borrow();
    let result = match &thread {
        Ok(thread) => start(&mut tracee, thread, image, session),
        Err(_) => Err(Refused::Ended),
    };
    if let Ok(thread) = thread {
        let _ = tracee.put_back(&thread);
    }
    tracee.release();
    result
}

/// Has a stopped process that has just begun with a new program load a library first, and find the session.
fn preload_at_start(tracee: Tracee, library: &str, session: &str) -> Result<(), Refused> {
    let added = variables::add(&tracee, session, library);
    tracee.release();
    added
}

/// Writes the image, and has it started.
fn start(tracee: &mut Tracee, thread: &Thread, what: &Image, session: &str) -> Result<(), Refused> {
    // At its first instruction a program shows where it lies.
    let entry = thread.registers.rip;
    let mut guest = Guest::new(tracee, thread, None)?;
    let placed = guest.place(what, entry)?;
    let parameters = Parameters::new(placed.image.clone(), action::START).with_path(session);
    let mut parameters = parameters.ok_or(Refused::NoImage)?;
    (parameters.frames_start, parameters.frames_end) = (placed.frames.start, placed.frames.end);
    match guest.call(&placed, &parameters)? {
        outcome::JOINED => Ok(()),
        _ => Err(Refused::NotJoined),
    }
}
