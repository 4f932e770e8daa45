//! Applies the collector's hooks: compares what is there, moves it, and writes the jump.

use super::room::Room;
use super::{heaps, sizes, slots, ways};
use crate::arch::jump;
use crate::sys::maps::{Code, code_at};
use crate::sys::{self, Access, PAGE};
use core::ops::Range;
use core::sync::atomic::Ordering;
use heapwise_trace::live::atomics::AtomicU8;
use heapwise_trace::live::hooks::{Hook, HookKind, JUMP_BYTES, result};
use heapwise_trace::live::stub::{CODE_BYTES, MOVED_AT};

/// A hook whose code is written, and whose jump is not.
#[derive(Clone, Copy)]
struct Prepared {
    address: usize,
    jump: [u8; JUMP_BYTES],
    /// Where in the table of results its own one is.
    index: usize,
}

/// Hooks that are prepared before their jumps are written: about as many as an allocator has.
const AT_ONCE: usize = 64;

/// Applies those hooks that `next` returns, and notes what came of each.
pub(super) fn apply(mut next: impl FnMut() -> Option<(usize, Option<Hook>)>, results: &[AtomicU8]) {
    let mut done = false;
    while !done {
        let mut rooms = Rooms { open: None, may_run: true, object: 0..0 };
        let mut prepared = [const { None::<Prepared> }; AT_ONCE];
        for place in &mut prepared {
            let Some((index, hook)) = next() else {
                done = true;
                break;
            };
            let outcome = match &hook {
                Some(hook) => prepare(hook, &mut rooms),
                None => Err(result::OTHER_CODE),
            };
            match outcome {
                Ok(Some((address, jump))) => *place = Some(Prepared { address, jump, index }),
                Ok(None) => note(results, index, result::APPLIED),
                Err(why) => note(results, index, why),
            }
        }
        rooms.close();
        for Prepared { address, jump, index } in prepared.into_iter().flatten() {
            let is_written = rooms.may_run && write(address, &jump);
            note(results, index, if is_written { result::APPLIED } else { result::FORBIDDEN });
        }
    }
}

/// The memory that stubs and moved code get.
struct Rooms {
    /// The one that is written to.
    open: Option<Room>,
    /// Whether all that were closed may be executed.
    may_run: bool,
    /// The object file of the last function.
    object: Range<usize>,
}

impl Rooms {
    fn close(&mut self) {
        self.may_run &= self.open.take().is_none_or(Room::close);
    }

    /// Where the object file begins and ends that has the code at an address.
    fn object_of(&mut self, address: usize) -> Range<usize> {
        if !self.object.contains(&address) {
            self.object = match code_at(address, &mut []) {
                Some((Code::Object { start, end }, _)) => start..end,
                _ => 0..0,
            };
        }
        self.object.clone()
    }

    /// One that is near enough to an address.
    fn near(&mut self, address: usize) -> Option<&mut Room> {
        // One room serves one object file, or several near each other.
        if !self.open.as_ref().is_some_and(|room| room.serves(address, CODE_BYTES)) {
            self.close();
            self.open = Room::near(address);
        }
        self.open.as_mut()
    }
}

fn note(results: &[AtomicU8], index: usize, what: u8) {
    if let Some(result) = results.get(index) {
        result.store(what, Ordering::Release);
    }
}

/// Writes a hook's stub and its moved code. Returns where its jump goes and what that is, nothing if it has it already.
fn prepare(hook: &Hook, rooms: &mut Rooms) -> Result<Option<(usize, [u8; JUMP_BYTES])>, u8> {
    let address = hook.address as usize;
    // A library that was unloaded and loaded again has its own code again.
    if !has(address, &hook.displaced[..usize::from(hook.displaced_len)]) {
        return if slots::is_taken(address) { Ok(None) } else { Err(result::OTHER_CODE) };
    }
    match hook.kind {
        HookKind::Nallocx => sizes::note(hook.allocator, address),
        HookKind::VisitBlocks => heaps::note(hook.allocator, address),
        _ => {}
    }
    let Some(way) = ways::way(hook) else { return Ok(None) };
    if hook.puts_return && jump::has_shadow_stack() {
        return Err(result::RETURNS_GUARDED);
    }
    let object = rooms.object_of(address);
    let Some(room) = rooms.near(address) else { return Err(result::NO_ROOM) };
    let Some(slot) = slots::take() else { return Err(result::NO_ROOM) };
    let (at, code) = room.take(CODE_BYTES);
    let (stub, moved) = code.split_at_mut(MOVED_AT);
    let moved_at = at + MOVED_AT;
    let code = jump::stub(core::ptr::from_ref(slot) as usize, way);
    stub[..code.len()].copy_from_slice(&code);
    jump::moved(hook, moved_at, moved).ok_or(result::NO_ROOM)?;
    let jump = jump::jump(address, at).ok_or(result::NO_ROOM)?;
    slot.fill(moved_at, address, object, hook);
    Ok(Some((address, jump)))
}

/// Whether code has these bytes.
fn has(address: usize, bytes: &[u8]) -> bool {
    // SAFETY: the kernel has just listed it as mapped code, which can be read. The loader holds its lock, or there is one thread, so
    // it is not unmapped meanwhile. Another tool may write to it: each byte is read once, and as it is.
    bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| unsafe { ((address + at) as *const u8).read_volatile() } == *byte)
}

/// Writes a jump into code that no thread is in. Returns whether the system allowed it.
pub(super) fn write(address: usize, jump: &[u8; JUMP_BYTES]) -> bool {
    let first = address & !(PAGE - 1);
    let len = (address + JUMP_BYTES).next_multiple_of(PAGE) - first;
    // SAFETY: it stays executable, for other threads may be in the same page.
    if unsafe { sys::protect(first, len, Access::WriteAndExecute) }.is_err() {
        return false;
    }
    // SAFETY: code of a function whose instructions were just compared, writable now. No thread is in these bytes: the object was just
    // loaded, or this is the only thread. The compiler knows nothing of code that it could take for a value.
    unsafe { core::ptr::copy_nonoverlapping(jump.as_ptr(), address as *mut u8, JUMP_BYTES) };
    // SAFETY: as it was before.
    unsafe { sys::protect(first, len, Access::Execute) }.is_ok()
}
