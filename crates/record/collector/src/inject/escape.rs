//! Threads that are in the first instructions of a function go on in a copy of these, which leads back behind them.
//!
//! The copy is there before the function is changed, and a thread that is moved to it never comes back: so nothing goes wrong once it
//! is not looked after any more.

use super::Refused;
use super::guest::Guest;
use super::thread::Registers;
use super::threads::Threads;
use crate::hooks::Placed;
use crate::maps::Line;
use heapwise_trace::live::hooks::{Hook, MOST_MOVED};
use nix::sys::ptrace;
use std::ops::Range;

/// Bytes of memory for copies near one place.
const ROOM: u64 = 4096;
/// How far a distance of four bytes reaches, less the size of a large file.
const REACH: u64 = (1 << 31) - (64 << 20);
/// Free memory that is left on both sides, for stacks that grow.
const MARGIN: u64 = 1 << 20;

/// Moves threads that are in these functions; the one that works for us is not. Returns the memory that was taken for the copies.
pub(super) fn all(
    threads: &Threads,
    guest: &mut Guest<'_>,
    functions: &[Placed],
    lines: &[Line<'_>],
) -> Result<Vec<Range<u64>>, Refused> {
    let mut rooms: Vec<(Range<u64>, u64)> = Vec::new();
    let own = guest.tracee.id();
    for (id, registers) in threads.registers().into_iter().filter(|(id, _)| *id != own) {
        let Some((function, step)) = step_at(functions, registers.rip) else {
            if is_inside(functions, registers.rip) {
                return Err(Refused::Occupied);
            }
            continue;
        };
        let near = |room: &Range<u64>| room.start.abs_diff(function.hook.address) < REACH;
        let has_room = |(room, used): &&mut (Range<u64>, u64)| near(room) && used + MOST_MOVED as u64 <= ROOM;
        let (room, used) = match rooms.iter_mut().find(has_room) {
            Some(known) => known,
            None => {
                let taken: Vec<_> = rooms.iter().map(|(room, _)| room.clone()).collect();
                let at = free_near(lines, &taken, function.hook.address).ok_or(Refused::NoRoom)?;
                guest.map_code(at, ROOM)?;
                rooms.push((at..at + ROOM, 0));
                rooms.last_mut().ok_or(Refused::NoRoom)?
            }
        };
        let at = room.start + *used;
        *used += MOST_MOVED as u64;
        guest.tracee.write(at, &code(&function.hook, at).ok_or(Refused::NoRoom)?)?;
        let moved = Registers { rip: at + u64::from(step), ..registers };
        ptrace::setregs(id, moved).map_err(Refused::system("set its registers"))?;
    }
    Ok(rooms.into_iter().map(|(room, _)| room).collect())
}

/// The function in whose displaced bytes an address is, behind the first instruction, and where that is in the moved code.
fn step_at(functions: &[Placed], at: u64) -> Option<(&Placed, u8)> {
    let function = functions.iter().find(|one| one.range().contains(&at) && one.hook.address != at)?;
    let offset = at - function.hook.address;
    let (_, moved) = function.steps.iter().find(|(displaced, _)| u64::from(*displaced) == offset)?;
    Some((function, *moved))
}

/// Whether an address is behind the first instruction of the displaced bytes of a function.
pub(super) fn is_inside(functions: &[Placed], at: u64) -> bool {
    functions.iter().any(|one| one.range().contains(&at) && one.hook.address != at)
}

/// The moved code for an address.
fn code(hook: &Hook, at: u64) -> Option<Vec<u8>> {
    let mut code = hook.moved.get(..usize::from(hook.moved_len))?.to_vec();
    for fixup in hook.fixups.iter().take(usize::from(hook.fixup_count)) {
        let distance = fixup.target.wrapping_sub(at.wrapping_add(u64::from(fixup.end))) as i64;
        let distance = i32::try_from(distance).ok()?.to_le_bytes();
        code.get_mut(usize::from(fixup.at)..)?.get_mut(..4)?.copy_from_slice(&distance);
    }
    Some(code)
}

/// Free addresses for a room that are in reach of an address.
fn free_near(lines: &[Line<'_>], taken: &[Range<u64>], address: u64) -> Option<u64> {
    let starts = lines.iter().map(|line| line.range.clone()).chain(taken.iter().cloned());
    let mut used: Vec<_> = starts.collect();
    used.sort_unstable_by_key(|range| range.start);
    let gaps = used.windows(2).filter(|pair| pair[1].start.saturating_sub(pair[0].end) >= 2 * MARGIN + ROOM);
    let places = gaps.flat_map(|pair| [pair[0].end + MARGIN, pair[1].start - MARGIN - ROOM]);
    let nearest = places.min_by_key(|place| place.abs_diff(address))?;
    (nearest.abs_diff(address) < REACH).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps;
    use heapwise_trace::live::hooks::Fixup;

    #[test]
    fn a_thread_goes_on_at_the_instruction_that_it_has_come_to() {
        let mut hook =
            Hook { address: 0x1000, displaced_len: 6, moved_len: 12, fixup_count: 1, ..Hook::default() };
        hook.fixups[0] = Fixup { at: 8, end: 12, target: 0x1006 };
        let one = [Placed { hook, steps: vec![(0, 0), (2, 2), (4, 8)] }];
        let step = |at| step_at(&one, at).map(|(_, step)| step);
        assert_eq!([step(0x1000), step(0x1002), step(0x1004), step(0x1006)], [None, Some(2), Some(8), None]);
        assert!(is_inside(&one, 0x1001) && !is_inside(&one, 0x1000) && !is_inside(&one, 0x1006));
        let moved = code(&hook, 0x2000).expect("it is near");
        assert_eq!(&moved[8..], (0x1006_i32 - 0x200c).to_le_bytes());
        assert_eq!(code(&hook, 1 << 40), None);
    }

    #[test]
    fn free_memory_is_found_near() {
        let text = "400000-500000 r-xp 0 0:0 1 /a\n10000000-10001000 rw-p 0 0:0 0 \n7f0000000000-7f0000100000 r-xp 0 0:0 2 /b";
        let lines: Vec<_> = text.lines().filter_map(maps::line).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(free_near(&lines, &[], 0x40_1000), Some(0x50_0000 + MARGIN));
        let near = free_near(&lines, &[], 0x7f00_0000_1000).expect("below it");
        assert_eq!(near, 0x7f00_0000_0000 - MARGIN - ROOM);
        assert_eq!(free_near(&lines, &[], 0x4000_0000_0000), None);
    }
}
