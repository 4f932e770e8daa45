//! Asks allocators inside of the program how large their blocks are: jemalloc's `nallocx`.
//!
//! Each build may have other sizes, and what is inside of a program cannot be measured alone. The function says of any size what a
//! block of it would have, and does nothing else. It is called once for each size, after a call of the same allocator that was measured:
//! that is at work by then, and this thread is in none of its functions.
//!
//! Decision: not `mi_good_size` of mimalloc. From 128 KiB on it says less than blocks have (2.1: 135,168 of 196,608 bytes).

use super::callable::{self, Callable};
use crate::guard::Internal;
use crate::process::PROCESS;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::live::sizes::{LARGEST, MOST_SIZE_TABLES, SizeTable};

/// `nallocx(size, flags)`.
type Nallocx = unsafe extern "C" fn(usize, c_int) -> usize;

/// In the order of the tables. A forked child has those of its parent that were not asked.
static CALLABLE: [Callable; MOST_SIZE_TABLES] = [const { Callable::none() }; MOST_SIZE_TABLES];
static WAS_ASKED: [AtomicBool; MOST_SIZE_TABLES] = [const { AtomicBool::new(false) }; MOST_SIZE_TABLES];

/// Notes the function of an allocator that has a number of its own.
pub(super) fn note(number: AllocatorNumber, function: usize) {
    if number != AllocatorNumber::BY_NAME {
        callable::note(&CALLABLE, number, function);
    }
}

/// Asks the allocator with this number, unless that was done, or it has no such function. A call of it has just been described on this
/// thread.
#[cold]
#[inline(never)]
pub(crate) fn ask(number: AllocatorNumber) {
    let Some(header) = PROCESS.header() else { return };
    let mut all = CALLABLE.iter().zip(&WAS_ASKED).zip(&header.size_tables);
    if let Some(((callable, was_asked), table)) = all.find(|((callable, _), _)| callable.is_of(number))
        && !was_asked.swap(true, Ordering::AcqRel)
    {
        let _internal = Internal::begin();
        if let Some(function) = callable.address() {
            // SAFETY: the address of a function of this type, by its name in the symbols of a file whose code was compared with what is
            // mapped there, and that still has the same code. Code is only read, and the function has no pointers.
            fill(table, number, unsafe { core::mem::transmute::<usize, Nallocx>(function) });
        }
    }
}

fn fill(table: &SizeTable, number: AllocatorNumber, nallocx: Nallocx) {
    let (mut requested, mut count) = (1, 0);
    while requested <= LARGEST
        && let Some(place) = table.sizes.get(count)
    {
        // SAFETY: it only computes.
        let usable = unsafe { nallocx(requested, 0) };
        // What is no size ends it.
        let Some(size) = u32::try_from(usable).ok().filter(|_| usable >= requested) else { break };
        place.store(size, Ordering::Relaxed);
        (requested, count) = (usable + 1, count + 1);
    }
    table.number.store(number.0.into(), Ordering::Relaxed);
    table.count.store(count as u32, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn multiples_of_8(size: usize, _: c_int) -> usize {
        size.next_multiple_of(8)
    }

    unsafe extern "C" fn powers_of_two(size: usize, _: c_int) -> usize {
        size.next_power_of_two().max(16)
    }

    unsafe extern "C" fn nothing(_: usize, _: c_int) -> usize {
        0
    }

    fn filled(nallocx: Nallocx) -> (u32, Vec<u32>) {
        // SAFETY: all zeroes are a table, which consists of atomics.
        let table: SizeTable = unsafe { core::mem::zeroed() };
        fill(&table, AllocatorNumber(3), nallocx);
        let count = table.count.load(Ordering::Acquire);
        let sizes = table.sizes.iter().take(count as usize).map(|size| size.load(Ordering::Relaxed));
        (table.number.load(Ordering::Relaxed), sizes.collect())
    }

    #[test]
    fn each_size_is_asked_for_once_as_far_as_there_is_room() {
        let (number, sizes) = filled(multiples_of_8);
        assert_eq!((number, sizes.len(), sizes[0], sizes[255]), (3, 256, 8, 2048));
        let (_, sizes) = filled(powers_of_two);
        assert_eq!((sizes[0], sizes[1], sizes.last()), (16, 32, Some(&(LARGEST as u32))));
        assert_eq!(filled(nothing).1, [0; 0]);
    }
}
