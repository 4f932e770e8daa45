//! What is noted.

use super::local::{self, Busy};
use super::queue::{self, Kind, Note};
use super::stack::Stack;
use super::state::Active;
use super::{live, system};
use heapwise_trace::event::{AllocFunction, MarkKind};
use heapwise_trace::live::layout::MARK_NAME_BYTES;
use std::alloc::Layout;

/// Alignment of every block of Rust's own allocator, in bytes.
const USUAL_ALIGNMENT: usize = 16;
/// A thread's name is looked at again with its first events up to this many, each time they have doubled: threads get their
/// names after they have begun.
const NAMED_UP_TO: u64 = 1 << 12;

/// A block was handed out, and is noted.
#[cold]
#[inline(never)]
pub(super) fn allocated(block: *mut u8, layout: &Layout, function: AllocFunction) {
    let is_aligned = layout.align() > USUAL_ALIGNMENT;
    let function = if is_aligned { AllocFunction::PosixMemalign } else { function };
    let align_log2 = if is_aligned { layout.align().trailing_zeros() as u8 } else { 0 };
    let address = block as usize;
    note_block(address, Kind::Alloc { function, align_log2 }, layout.size());
}

/// A resized block is at its new place, and is noted with its new size.
#[cold]
#[inline(never)]
pub(super) fn arrived(new: *mut u8, size: usize) {
    note_block(new as usize, Kind::ReallocEnd, size);
}

fn note_block(address: usize, kind: Kind, size: usize) {
    let Some((_busy, active)) = enter() else { return };
    if !has_room_for(address, active) {
        return queue::lose();
    }
    let known = match (live::insert(address), active.is_profile) {
        (true, _) => address as u64,
        // It was allocated all the same.
        (false, true) => queue::UNFOLLOWED,
        (false, false) => return queue::lose(),
    };
    let is_queued = push(&active, Note { kind, address: known, size: size as u64 }, &Stack::capture());
    if !is_queued {
        // Its free is not to be noted either.
        live::remove(address);
    }
}

/// The file's format has 44 bits for an address in units of eight bytes; a profile has room for any.
fn has_room_for(address: usize, active: Active) -> bool {
    active.is_profile || address & 7 == 0 && is_in_the_format(address)
}

/// Whether a recording can have this address. On some processors, such as those of AArch64, blocks are above that.
pub(super) fn is_in_the_format(address: usize) -> bool {
    address as u64 >> 47 == 0
}

/// A block is about to be freed.
#[inline(never)]
pub(super) fn freed(block: *mut u8) {
    leave(block, Kind::Free);
}

/// A block is about to be resized. Says whether it was a noted one.
#[inline(never)]
pub(super) fn leaves(block: *mut u8) -> bool {
    leave(block, Kind::ReallocBegin)
}

fn leave(block: *mut u8, kind: Kind) -> bool {
    let address = block as usize;
    let Some((_busy, active)) = enter() else { return false };
    if !live::remove(address) {
        return false;
    }
    if !has_room_for(address, active) {
        queue::lose_one(kind);
        return false;
    }
    push(&active, Note { kind, address: address as u64, size: 0 }, &Stack::none());
    true
}

/// A block was not resized, because the allocator refused.
#[cold]
#[inline(never)]
pub(super) fn stays(block: *mut u8, layout: &Layout, size: usize, is_noted: bool) {
    if is_noted {
        note_block(block as usize, Kind::Stays, layout.size());
    }
    fail(size, AllocFunction::Realloc);
}

/// A request was refused. All of these are noted.
#[cold]
#[inline(never)]
pub(super) fn refused(layout: &Layout, function: AllocFunction) {
    fail(layout.size(), function);
}

fn fail(size: usize, function: AllocFunction) {
    let Some((_busy, active)) = enter() else { return };
    if active.is_profile {
        // It has no refusals.
        return;
    }
    push(&active, Note { kind: Kind::Failed { function }, address: 0, size: size as u64 }, &Stack::capture());
}

/// The program says what it is doing. A name that is too long is cut, and ends in `…`.
pub fn mark(kind: MarkKind, name: &str) {
    const CUT: &str = "…";
    let Some((_busy, active)) = enter() else { return };
    if active.is_profile {
        // It has none.
        return;
    }
    let Some(who) = local::count(active.recording) else { return queue::lose() };
    tell_name(who.thread, who.before);
    let mut cut = [0; MARK_NAME_BYTES];
    let name = if name.len() <= MARK_NAME_BYTES {
        name.as_bytes()
    } else {
        let len = name.floor_char_boundary(MARK_NAME_BYTES - CUT.len());
        cut[..len].copy_from_slice(&name.as_bytes()[..len]);
        cut[len..len + CUT.len()].copy_from_slice(CUT.as_bytes());
        &cut[..len + CUT.len()]
    };
    queue::mark(who.thread, kind, name, active.patience());
}

/// Begins to note something, unless this thread does so already or nothing is to be noted here.
fn enter() -> Option<(Busy, Active)> {
    let busy = Busy::enter()?;
    Some((busy, Active::here()?))
}

fn push(active: &Active, note: Note, stack: &Stack) -> bool {
    let Some(who) = local::count(active.recording) else {
        queue::lose_one(note.kind);
        return false;
    };
    if !active.is_profile {
        tell_name(who.thread, who.before);
    }
    queue::push(who.thread, note, stack.frames(), active.patience())
}

/// Reports a thread's name, if its number of events so far is one at which that is done.
fn tell_name(thread: u32, events: u64) {
    if events.is_power_of_two() && events <= NAMED_UP_TO || events == 0 {
        let mut name = [0; system::MOST_NAME_BYTES];
        let len = system::thread_name(&mut name);
        queue::name(thread, system::thread_id(), &name[..len]);
    }
}
