//! Asks allocators inside of the program how large their blocks are: jemalloc's `nallocx`.
//!
//! Each build may have other sizes, and what is inside of a program cannot be measured alone. The function says of any size what a
//! block of it would have, and does nothing else. It is called once for each size, after a call of the same allocator that was measured:
//! that is at work by then, and this thread is in none of its functions.
//!
//! Decision: not `mi_good_size` of mimalloc. From 128 KiB on it says less than blocks have (2.1: 135,168 of 196,608 bytes).

use crate::guard::Internal;
use crate::process::PROCESS;
use crate::sys;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::live::sizes::{LARGEST, MOST_SIZE_TABLES, SizeTable};

/// `nallocx(size, flags)`.
type Nallocx = unsafe extern "C" fn(usize, c_int) -> usize;

/// A function that can be asked.
struct Askable {
    /// Whose it is; 0 where there is none.
    number: AtomicU8,
    was_asked: AtomicBool,
    /// Its address.
    function: AtomicUsize,
    /// The first word of its code.
    code: AtomicUsize,
}

impl Askable {
    const fn none() -> Self {
        Self {
            number: AtomicU8::new(0),
            was_asked: AtomicBool::new(false),
            function: AtomicUsize::new(0),
            code: AtomicUsize::new(0),
        }
    }

    /// Its function, if that is still there: its library may have been unloaded.
    fn function(&self) -> Option<Nallocx> {
        let function = self.function.load(Ordering::Acquire);
        let is_there = sys::read_word_checked(function) == Some(self.code.load(Ordering::Relaxed));
        // SAFETY: the address of a function of this type, by its name in the symbols of a file whose code was compared with what is
        // mapped there, and that still has the same code. Code is only read, and the function has no pointers.
        is_there.then(|| unsafe { core::mem::transmute::<usize, Nallocx>(function) })
    }
}

/// In the order of the tables. A forked child has those of its parent that were not asked.
static ASKABLE: [Askable; MOST_SIZE_TABLES] = [const { Askable::none() }; MOST_SIZE_TABLES];

/// Notes the function of an allocator that has a number of its own.
pub(super) fn note(number: AllocatorNumber, function: usize) {
    if number != AllocatorNumber::BY_NAME
        && number < AllocatorNumber::OTHERS
        && let Some(code) = sys::read_word_checked(function)
    {
        note_in(&ASKABLE, number, function, code);
    }
}

/// A library that is loaded once more has its place again, and may lie elsewhere.
fn note_in(all: &[Askable], number: AllocatorNumber, function: usize, code: usize) {
    let of = |number: u8| all.iter().find(|askable| askable.number.load(Ordering::Relaxed) == number);
    if let Some(askable) = of(number.0).or_else(|| of(0)) {
        askable.code.store(code, Ordering::Relaxed);
        askable.function.store(function, Ordering::Release);
        askable.number.store(number.0, Ordering::Release);
    }
}

/// Asks the allocator with this number, unless that was done, or it has no such function. A call of it has just been described on this
/// thread.
#[cold]
#[inline(never)]
pub(crate) fn ask(number: AllocatorNumber) {
    let Some(header) = PROCESS.header() else { return };
    let mut all = ASKABLE.iter().zip(&header.size_tables);
    let its = all.find(|(askable, _)| askable.number.load(Ordering::Acquire) == number.0);
    if let Some((askable, table)) = its
        && !askable.was_asked.swap(true, Ordering::AcqRel)
    {
        let _internal = Internal::begin();
        if let Some(nallocx) = askable.function() {
            fill(table, number, nallocx);
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

    #[test]
    fn a_library_that_is_loaded_again_has_its_place_and_what_is_gone_is_not_called() {
        let all = [const { Askable::none() }; 2];
        let real = powers_of_two as *const () as usize;
        let code = sys::read_word_checked(real).expect("it is code");
        note_in(&all, AllocatorNumber(5), 0x10, 7);
        assert!(all[0].function().is_none(), "nothing is there");
        note_in(&all, AllocatorNumber(6), real, code ^ 1);
        assert!(all[1].function().is_none(), "there is something else");
        note_in(&all, AllocatorNumber(5), real, code);
        assert_eq!(all[0].function().map(|function| function as *const () as usize), Some(real));
        note_in(&all, AllocatorNumber(7), real, code);
        assert_eq!(
            all.each_ref().map(|one| one.number.load(Ordering::Relaxed)),
            [5, 6],
            "there is no more room"
        );
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
