//! Writes the recorder into a process that no library can be preloaded into.
//!
//! The process is stopped: a program that is linked statically at its first instruction. It is made to map memory, in which the
//! recorder's [`image`] is laid out as a loader would; then it is made to call the image's first function, on a stack of that function's
//! own. When that returns, the process has joined the session as any other, and goes on where it was.

pub(crate) mod children;
mod frames;
pub(crate) mod helper;
pub(crate) mod image;
mod layout;
mod tracee;

use heapwise_trace::live::image::{Parameters, outcome};
use image::Image;
use layout::Layout;
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::io;
use tracee::{Registers, Tracee};

/// Why the recorder could not be written into a process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The kernel does not let us do something.
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
    /// It does not let the process do something.
    #[error("the program could not {0} for the recorder: {1}")]
    Call(&'static str, io::Error),
    #[error("the kernel maps no code of its own into programs (vdso=0)")]
    NoGate,
    #[error("the recorder's image is damaged")]
    NoImage,
    #[error("the recorder's start failed with {0}")]
    Failed(Signal),
    #[error("the program ended while the recorder was written into it")]
    Ended,
    #[error("the recorder could not join the recording from within the program")]
    NotJoined,
}

impl Refused {
    fn system(what: &'static str) -> impl Fn(Errno) -> Self {
        move |error| Self::System(what, error.into())
    }

    fn call(number: libc::c_long, error: i32) -> Self {
        let what = match number {
            libc::SYS_mmap => "map memory",
            libc::SYS_mprotect => "make memory executable",
            _ => "make a system call",
        };
        Self::Call(what, io::Error::from_raw_os_error(error))
    }
}

/// Behind the image: a page that is not mapped, and the stack for its first function. At the stack's upper end are what the function
/// gets, and a block of a thread that no C library has made yet.
const GUARD_BYTES: u64 = 4096;
const STACK_BYTES: u64 = 256 << 10;
const TOP_BYTES: u64 = 4096;
/// Of the thread's block, which begins with its own address.
const BLOCK_AT: u64 = 2048;

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
    let before = tracee.registers();
    let result = before
        .as_ref()
        .map_err(|_| Refused::Ended)
        .and_then(|before| start(&mut tracee, before, image, session));
    if let Ok(before) = before {
        let _ = tracee.set_registers(before);
    }
    tracee.release();
    result
}

/// Writes the image, and has it started.
fn start(tracee: &mut Tracee, before: &Registers, what: &Image, session: &str) -> Result<(), Refused> {
    let layout = Layout::read(what.file).ok_or(Refused::NoImage)?;
    // At its first instruction a program shows where it lies.
    let frames = what.frames.as_ref().map(|table| frames::bytes(table, before.rip)).unwrap_or_default();
    let frames_len = (frames.len() as u64).next_multiple_of(layout::PAGE);
    let gate = tracee.gate()?;
    let len = layout.len + frames_len + GUARD_BYTES + STACK_BYTES;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let mmap = [0, len, libc::PROT_NONE as u64, flags as u64, u64::MAX, 0];
    let base = tracee.system_call(gate, libc::SYS_mmap, mmap)?;
    let frames_at = base + layout.len;
    let stack = frames_at + frames_len + GUARD_BYTES;
    let mut parts: Vec<_> =
        layout.parts.iter().map(|part| (base + part.start, part.len, part.protection)).collect();
    parts.push((frames_at, frames_len, libc::PROT_READ));
    parts.push((stack, STACK_BYTES, libc::PROT_READ | libc::PROT_WRITE));
    for (at, len, protection) in parts.into_iter().filter(|(_, len, _)| *len > 0) {
        tracee.system_call(gate, libc::SYS_mprotect, [at, len, protection as u64, 0, 0, 0])?;
    }
    for (at, bytes) in layout.placed(base).ok_or(Refused::NoImage)? {
        tracee.write(at, &bytes)?;
    }
    tracee.write(frames_at, &frames)?;
    let frames_range = if frames.is_empty() { 0..0 } else { frames_at..frames_at + frames.len() as u64 };
    let parameters =
        Parameters::new(base..frames_at + frames_len, session, frames_range).ok_or(Refused::NoImage)?;
    let top = stack + STACK_BYTES - TOP_BYTES;
    tracee.write(top, &parameters.bytes())?;
    let block = top + BLOCK_AT;
    tracee.write(block, &block.to_le_bytes())?;
    let entry = base + layout.entry;
    let returned = tracee.run(Registers { rip: entry, rsp: top, rdi: top, fs_base: block, ..*before })?;
    tracee.system_call(gate, libc::SYS_munmap, [stack, STACK_BYTES, 0, 0, 0, 0])?;
    if returned as u32 == outcome::JOINED { Ok(()) } else { Err(Refused::NotJoined) }
}
