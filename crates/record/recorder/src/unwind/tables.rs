//! The memory of a remembered stack: tables that grow with the deepest stack of the thread.
//!
//! Most stacks are shallow, and address space may be limited, so the tables begin small. Larger ones take their place when a
//! walk needs them, up to a depth at which stacks are cut off.

use super::frames::{Check, Fresh, Remembered};
use crate::{address_space, sys};
use core::ops::{Deref, DerefMut};

/// Frames of a stack that is kept whole. Of a deeper one the outer frames are cut off.
pub(super) const DEPTH: usize = 16 << 10;
/// Frames at first: with the thread's other state they fill four pages.
const FIRST: usize = 120;
/// How much larger the next tables are.
const GROWTH: usize = 4;

/// How many words are compared at once.
const AT_ONCE: usize = 4;
/// Checks before the first one that always hold, so that as many as that can be compared at every place.
const PADDING: usize = AT_ONCE - 1;

/// Where a word is that is always zero.
pub(super) fn zero() -> usize {
    static ZERO: usize = 0;
    &raw const ZERO as usize
}

/// A table in memory of the recorder's own.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Table<T> {
    at: *mut T,
    len: usize,
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `Tables::begin` comes before every other use, so there are `len` elements, for which zeroes are valid. They
        // belong to this table, which is borrowed.
        unsafe { core::slice::from_raw_parts(self.at, self.len) }
    }
}

impl<T> DerefMut for Table<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the table is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.at, self.len) }
    }
}

/// The tables of a thread. All zeroes until [`Tables::begin`].
#[derive(Debug)]
#[repr(C)]
pub(super) struct Tables {
    /// The last stack, outermost frame first, from index 1 on. Index 0 is unused.
    pub(super) frames: Table<Remembered>,
    /// What proves it, in the same order.
    pub(super) checks: Table<Check>,
    /// Frames found by the walk at work, innermost first.
    pub(super) fresh: Table<Fresh>,
    /// Frames that there is room for.
    room: usize,
}

/// Bytes of tables with room for so many frames.
const fn bytes(room: usize) -> usize {
    (room + 1) * size_of::<Remembered>()
        + (PADDING + 2 * room) * size_of::<Check>()
        + room * size_of::<Fresh>()
}

/// Bytes of the first tables.
pub const FIRST_BYTES: usize = bytes(FIRST);

impl Tables {
    /// Frames that there is room for.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// The frames, what proves them, and the fresh ones.
    #[inline(always)]
    pub(super) fn slices(&mut self) -> (&mut [Remembered], &mut [Check], &[Fresh]) {
        (&mut self.frames, &mut self.checks, &self.fresh)
    }

    /// Begins with the first tables.
    ///
    /// # Safety
    /// `at` is the start of [`FIRST_BYTES`] zeroed, aligned bytes, which belong to these tables from now on.
    pub(super) unsafe fn begin(&mut self, at: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.lay_out(at, FIRST) };
    }

    /// # Safety
    /// `at` is the start of `bytes(room)` zeroed, aligned bytes, which belong to these tables from now on.
    unsafe fn lay_out(&mut self, at: *mut u8, room: usize) {
        let frames: *mut Remembered = at.cast();
        // SAFETY: the three tables follow one another within the bytes, and the padding is before the second; their alignments are the
        // same.
        let (checks, fresh) = unsafe {
            let padding: *mut Check = frames.add(room + 1).cast();
            (0..PADDING).for_each(|i| padding.add(i).write(Check { at: zero(), value: 0 }));
            let checks = padding.add(PADDING);
            (checks, checks.add(2 * room).cast())
        };
        self.frames = Table { at: frames, len: room + 1 };
        self.checks = Table { at: checks, len: 2 * room };
        self.fresh = Table { at: fresh, len: room };
        self.room = room;
    }

    /// Looks whether the words of the first `count` checks still are what they were, the last one's first. Returns the index of the first
    /// one that is not.
    ///
    /// # Safety
    /// There are as many checks, and their words can be read.
    #[inline(always)]
    pub(super) unsafe fn first_difference(&self, count: u32) -> Option<usize> {
        let checks = self.checks.at;
        // SAFETY: the index is below the number of checks, and not below that of the padding, which is there as long as the tables; the
        // caller's promise, and a static word.
        let differs = |index: isize| unsafe {
            let check = checks.offset(index).read();
            (check.at as *const usize).read_volatile() != check.value
        };
        let mut index = count as isize;
        // PERF: one round for four words. They hardly ever differ, and each needs three loads and nothing of the others.
        while index > 0 {
            if differs(index - 1) || differs(index - 2) || differs(index - 3) || differs(index - 4) {
                let first = (index - AT_ONCE as isize..index).rev().find(|&index| differs(index));
                // The padding never differs.
                return first.and_then(|first| usize::try_from(first).ok());
            }
            index -= AT_ONCE as isize;
        }
        None
    }

    /// Makes room for more than `needed - 1` frames. Returns whether there is.
    #[cold]
    #[inline(never)]
    pub(super) fn reserve(&mut self, needed: usize) -> bool {
        let mut room = self.room;
        if needed > DEPTH {
            return false;
        }
        while room < needed {
            room = (room * GROWTH).min(DEPTH);
        }
        if room == self.room {
            return true;
        }
        let Some(at) = address_space::map_private(bytes(room)) else { return false };
        let (frames, checks, fresh) = (self.frames.at, self.checks.at, self.fresh.at);
        let old = self.room;
        // SAFETY: the memory is fresh, large enough and aligned to a page. The old tables have as many elements as are
        // copied, and nothing borrows them here.
        unsafe {
            self.lay_out(at, room);
            core::ptr::copy_nonoverlapping(frames, self.frames.at, old + 1);
            core::ptr::copy_nonoverlapping(checks, self.checks.at, 2 * old);
            core::ptr::copy_nonoverlapping(fresh, self.fresh.at, old);
        }
        // The first tables lie in the thread's state, which stays.
        if old != FIRST {
            // SAFETY: the old tables were mapped by this function, as a whole, and are not used any more.
            unsafe { sys::unmap(frames.cast(), bytes(old)) };
            address_space::put_back(bytes(old));
        }
        true
    }
}

const _: () =
    assert!(align_of::<Remembered>() == align_of::<Check>() && align_of::<Check>() == align_of::<Fresh>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_tables_have_what_the_smaller_ones_had() {
        let mut memory = vec![0u64; FIRST_BYTES.div_ceil(8)];
        // SAFETY: all zeroes is a valid state.
        let mut tables: Tables = unsafe { core::mem::zeroed() };
        // SAFETY: zeroed, aligned to eight bytes, and kept until the end of the test.
        unsafe { tables.begin(memory.as_mut_ptr().cast()) };
        let mut rooms = vec![tables.room()];
        while tables.room() < DEPTH {
            let room = tables.room();
            tables.fresh[room - 1] = Fresh::at(room);
            assert!(tables.reserve(room) && tables.room() == room, "there is room already");
            assert!(tables.reserve(room + 1) && tables.room() > room);
            rooms.push(tables.room());
            for &before in &rooms[..rooms.len() - 1] {
                assert_eq!(tables.fresh[before - 1], Fresh::at(before));
            }
            assert_eq!((tables.frames.len(), tables.checks.len()), (tables.room() + 1, 2 * tables.room()));
        }
        assert!(!tables.reserve(DEPTH + 1));
        assert_eq!(rooms, [120, 480, 1920, 7680, DEPTH]);
    }
}
