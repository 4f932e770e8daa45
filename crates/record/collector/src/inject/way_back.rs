//! How a thread that works for us goes back by itself.
//!
//! The kernel makes a thread what it was before a signal's handler when that ends: it reads a *frame* that it has written itself
//! (`rt_sigreturn`). We write such a frame, with what the thread was before, and see to it that whatever the thread does for us leads
//! there. Once it is not traced any more, it goes on with the program.
//!
//! The frame lies at the lower end of the first thread's stack, where nothing is in use: everything below a stack pointer is free.

use super::Refused;
use super::thread::{NO_CALL, Registers, Thread};
use super::tracee::Tracee;
use crate::maps::Line;

/// Where things are that lead a thread back.
#[derive(Clone, Debug)]
pub(crate) struct WayBack {
    /// An instruction for system calls, behind which comes a return.
    pub(crate) gate: u64,
    /// The stack pointer for it: there lies the address of the code that ends a handler, and behind that the frame.
    pub(crate) stack: u64,
    /// What was there before.
    before: Vec<u8>,
}

/// Code of a process in which a way back is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gadgets {
    /// `syscall; ret`
    call: u64,
    /// `mov rax, 15; syscall`: how each C library ends a handler.
    end_of_handler: u64,
}

const CALL: &[u8] = &[0x0f, 0x05, 0xc3];
const END_OF_HANDLER: &[u8] = &[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
/// Bytes of code that are looked at for each file.
const MOST_CODE: u64 = 16 << 20;

impl Gadgets {
    /// Looks for them in the code of files that a process has mapped. `read` reads its memory.
    pub(crate) fn find(lines: &[Line<'_>], read: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<Self> {
        let (mut call, mut end_of_handler) = (None, None);
        for line in lines.iter().filter(|line| line.executable && !line.writable && line.inode != 0) {
            let Some(code) =
                read(line.range.start, (line.range.end - line.range.start).min(MOST_CODE) as usize)
            else {
                continue;
            };
            let find = |what: &[u8]| {
                code.windows(what.len())
                    .position(|bytes| bytes == what)
                    .map(|at| line.range.start + at as u64)
            };
            call = call.or_else(|| find(CALL));
            end_of_handler = end_of_handler.or_else(|| find(END_OF_HANDLER));
            if let (Some(call), Some(end_of_handler)) = (call, end_of_handler) {
                return Some(Self { call, end_of_handler });
            }
        }
        None
    }
}

/// Bytes at the lower end of the first thread's stack that are taken, and that have to lie below any stack pointer.
const ROOM: u64 = 24 << 10;
/// From there on: the address, the frame, and what it names.
const AT: u64 = 4096;
/// Free bytes of ours there, for names.
const NAMES_AT: u64 = 1024;

impl WayBack {
    /// Prepares one; nothing where the stack has no room, or a thread is that deep in it.
    pub(crate) fn prepare(
        tracee: &Tracee,
        thread: &Thread,
        gadgets: Option<Gadgets>,
        (stack, pointers): (Option<&Line<'_>>, &[u64]),
    ) -> Result<Option<Self>, Refused> {
        let (Some(gadgets), Some(stack)) = (gadgets, stack) else { return Ok(None) };
        let low = stack.range.start;
        let is_in_use = |pointer: &u64| (low..low + ROOM + 4096).contains(pointer);
        let is_short = stack.range.end - low < 2 * ROOM;
        if is_short || has_tiles(&thread.vectors) || pointers.iter().any(is_in_use) {
            return Ok(None);
        }
        let before = tracee.read(low, ROOM as usize)?;
        let at = low + AT;
        let mut bytes = gadgets.end_of_handler.to_le_bytes().to_vec();
        bytes.extend(frame(thread, at + 8));
        tracee.write(at, &bytes)?;
        Ok(Some(Self { gate: gadgets.call, stack: at, before }))
    }

    /// Where a name of ours can be written.
    pub(crate) fn names(&self) -> u64 {
        self.stack - AT + NAMES_AT
    }

    /// Leaves the stack as it was. Nothing leads there any more.
    pub(crate) fn clear(&self, tracee: &Tracee) {
        // It is not in use, so it does not matter.
        let _ = tracee.write(self.stack - AT, &self.before);
    }
}

/// Bytes of the frame's structure: `struct ucontext` and the signal's own, of which nothing is read.
const CONTEXT_BYTES: u64 = 304;
const SIGNAL_BYTES: u64 = 128;
/// How the vectors are aligned.
const VECTORS_ALIGN: u64 = 64;
/// The frame has vectors in the long form, and the segment of the stack.
const FLAGS: u64 = 1 | 2 | 4;
/// No such state of a signal stack exists, so the kernel leaves the thread's as it is.
const NO_SUCH_STATE: u64 = 0x7fff;
/// Where the vectors say that they have the long form, and what (`struct _fpx_sw_bytes`).
const LONG_FORM_AT: usize = 464;
const LONG_FORM: u32 = 0x4650_5853;
const LONG_FORM_END: u32 = 0x4650_5845;

/// The frame at an address, from the part on that the kernel reads: `struct ucontext` of the kernel for 64-bit x86 and, further on, the vectors.
pub(super) fn frame(thread: &Thread, at: u64) -> Vec<u8> {
    let r = with_call_again(thread.registers);
    let vectors_at = (at + CONTEXT_BYTES + SIGNAL_BYTES).next_multiple_of(VECTORS_ALIGN);
    let segments = r.cs & 0xffff | (r.ss & 0xffff) << 48;
    let words = [
        FLAGS,
        0,
        0,
        NO_SUCH_STATE,
        0, // flags, link, signal stack: address, state, size
        r.r8,
        r.r9,
        r.r10,
        r.r11,
        r.r12,
        r.r13,
        r.r14,
        r.r15,
        r.rdi,
        r.rsi,
        r.rbp,
        r.rbx,
        r.rdx,
        r.rax,
        r.rcx,
        r.rsp,
        r.rip,
        r.eflags,
        segments,
        0,
        0,
        0,
        0, // segments; error, trap, old mask, address of a fault
        vectors_at,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        thread.mask,
    ];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize((vectors_at - at) as usize, 0);
    bytes.extend(in_long_form(&thread.vectors));
    bytes
}

/// Registers with which a system call that was interrupted is made again, as after a signal whose handler allows that.
fn with_call_again(registers: Registers) -> Registers {
    // The kernel's own results, which no program sees: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK.
    let again = match -(registers.rax as i64) {
        _ if registers.orig_rax == NO_CALL => return registers,
        512..=514 => registers.orig_rax,
        516 => libc::SYS_restart_syscall as u64,
        _ => return registers,
    };
    Registers { rax: again, rip: registers.rip - 2, ..registers }
}

/// Whether the vectors have room for those of AMX. A frame of a thread that does not use these is smaller, and we do not know how the
/// kernel counts.
fn has_tiles(vectors: &[u8]) -> bool {
    const TILES: u64 = 1 << 17 | 1 << 18;
    let which = vectors.get(LONG_FORM_AT..).and_then(|rest| rest.first_chunk().copied());
    which.is_some_and(|which| u64::from_le_bytes(which) & TILES != 0)
}

/// The vectors as a signal's frame has them: the kernel's answer says in the same place only which of them there are.
fn in_long_form(vectors: &[u8]) -> Vec<u8> {
    let mut bytes = vectors.to_vec();
    let len = bytes.len() as u32;
    if let Some(which) = bytes.get(LONG_FORM_AT..LONG_FORM_AT + 8).map(<[u8]>::to_vec) {
        let mut says = Vec::with_capacity(24);
        says.extend(LONG_FORM.to_le_bytes());
        says.extend((len + 4).to_le_bytes());
        says.extend(which);
        says.extend(len.to_le_bytes());
        bytes[LONG_FORM_AT..LONG_FORM_AT + says.len()].copy_from_slice(&says);
    }
    bytes.extend(LONG_FORM_END.to_le_bytes());
    bytes
}
