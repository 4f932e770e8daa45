//! Records of a script: two words each.
//!
//! | bits of the first word | what |
//! |---|---|
//! | 0 to 3 | the operation |
//! | 4 to 9 | binary logarithm of the alignment |
//! | 10 | whether to wait for another thread |
//! | 16 to 31 | generation of the slot |
//! | 32 to 63 | slot, thread, or number of an epoch |
//!
//! The second word is a size in its lower 48 bits with the touched share of the block above, or a time, or the place of
//! the next piece of the stream.

use heapwise_trace::event::AllocFunction;

/// Bytes of a record.
pub(crate) const RECORD_BYTES: u64 = 16;
/// Records of a piece of a stream: 64 KiB.
pub(crate) const PIECE_RECORDS: usize = 4096;
/// Bytes of a piece.
pub(crate) const PIECE_BYTES: u64 = PIECE_RECORDS as u64 * RECORD_BYTES;
/// The touched share of a block that was touched as a whole.
pub(crate) const WHOLE: u16 = u16::MAX;

const ALIGN_SHIFT: u32 = 4;
const WAITS: u64 = 1 << 10;
const GENERATION_SHIFT: u32 = 16;
const SLOT_SHIFT: u32 = 32;
const SIZE_BITS: u32 = 48;
const SIZE_MASK: u64 = (1 << SIZE_BITS) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Operation {
    Malloc = 0,
    Calloc = 1,
    /// `realloc` of a null pointer.
    ReallocNull = 2,
    /// `posix_memalign`.
    PosixMemalign = 3,
    /// `aligned_alloc`.
    AlignedAlloc = 4,
    Memalign = 5,
    Valloc = 6,
    Pvalloc = 7,
    Free = 8,
    /// `realloc` of a block.
    Realloc = 9,
    /// A new epoch begins for this thread: its number, and when it began.
    Epoch = 10,
    /// Start a thread.
    Spawn = 11,
    /// Wait until a thread has ended.
    Join = 12,
    /// The stream goes on in another piece.
    Next = 13,
    /// The thread ends.
    End = 14,
    /// The thread stays until the process ends.
    Stay = 15,
}

impl Operation {
    const ALL: [Self; 16] = [
        Self::Malloc,
        Self::Calloc,
        Self::ReallocNull,
        Self::PosixMemalign,
        Self::AlignedAlloc,
        Self::Memalign,
        Self::Valloc,
        Self::Pvalloc,
        Self::Free,
        Self::Realloc,
        Self::Epoch,
        Self::Spawn,
        Self::Join,
        Self::Next,
        Self::End,
        Self::Stay,
    ];

    /// The operation by which a function's blocks are allocated.
    pub(crate) fn of(function: AllocFunction) -> Self {
        match function {
            AllocFunction::Malloc | AllocFunction::New => Self::Malloc,
            AllocFunction::Calloc => Self::Calloc,
            AllocFunction::Realloc => Self::ReallocNull,
            AllocFunction::PosixMemalign => Self::PosixMemalign,
            AllocFunction::AlignedAlloc => Self::AlignedAlloc,
            AllocFunction::Memalign => Self::Memalign,
            AllocFunction::Valloc => Self::Valloc,
            AllocFunction::Pvalloc => Self::Pvalloc,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Record(pub(crate) [u64; 2]);

impl Record {
    /// What concerns a thread, an epoch or the stream itself.
    pub(crate) fn plain(operation: Operation, number: u32, second: u64) -> Self {
        Self([operation as u64 | u64::from(number) << SLOT_SHIFT, second])
    }

    /// What concerns a block.
    pub(crate) fn block(operation: Operation, slot: u32, generation: u16, waits: bool, size: u64) -> Self {
        let first = operation as u64
            | if waits { WAITS } else { 0 }
            | u64::from(generation) << GENERATION_SHIFT
            | u64::from(slot) << SLOT_SHIFT;
        Self([first, size.min(SIZE_MASK) | u64::from(WHOLE) << SIZE_BITS])
    }

    pub(crate) fn aligned(self, align_log2: u8) -> Self {
        Self([self.0[0] | u64::from(align_log2 & 63) << ALIGN_SHIFT, self.0[1]])
    }

    /// The second word with another touched share.
    pub(crate) fn touching(size: u64, share: u16) -> u64 {
        size.min(SIZE_MASK) | u64::from(share) << SIZE_BITS
    }

    #[inline(always)]
    pub(crate) fn operation(self) -> Operation {
        Operation::ALL[(self.0[0] & 15) as usize]
    }

    #[inline(always)]
    pub(crate) fn align_log2(self) -> u32 {
        (self.0[0] >> ALIGN_SHIFT & 63) as u32
    }

    #[inline(always)]
    pub(crate) fn waits(self) -> bool {
        self.0[0] & WAITS != 0
    }

    #[inline(always)]
    pub(crate) fn generation(self) -> u16 {
        (self.0[0] >> GENERATION_SHIFT) as u16
    }

    /// Slot, thread, or number of an epoch.
    #[inline(always)]
    pub(crate) fn number(self) -> u32 {
        (self.0[0] >> SLOT_SHIFT) as u32
    }

    /// Requested bytes.
    #[inline(always)]
    pub(crate) fn size(self) -> usize {
        (self.0[1] & SIZE_MASK) as usize
    }

    /// The bytes that are to be touched, from the start of the block.
    #[inline(always)]
    pub(crate) fn touched_bytes(self) -> usize {
        let share = (self.0[1] >> SIZE_BITS) as u16;
        if share == WHOLE { self.size() } else { part(self.size(), share) }
    }
}

fn part(size: usize, share: u16) -> usize {
    (size as u128 * u128::from(share) / u128::from(WHOLE)) as usize
}

/// The share of a block of which so many bytes were resident; nearly none is never none at all, and never the whole.
pub(crate) fn share(resident_bytes: u64, size: u64) -> u16 {
    if resident_bytes >= size {
        return WHOLE;
    }
    let share = (u128::from(resident_bytes) * u128::from(WHOLE)).div_ceil(u128::from(size.max(1)));
    (share as u16).min(WHOLE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_keep_what_they_are_given(
            operation in 0usize..10, slot: u32, generation: u16, waits: bool,
            size in 0u64..1 << 47, align in 0u8..48,
        ) {
            let operation = Operation::ALL[operation];
            let record = Record::block(operation, slot, generation, waits, size).aligned(align);
            prop_assert_eq!(record.operation(), operation);
            prop_assert_eq!((record.number(), record.generation(), record.waits()), (slot, generation, waits));
            prop_assert_eq!((record.size() as u64, record.align_log2()), (size, u32::from(align)));
            prop_assert_eq!(record.touched_bytes() as u64, size);
        }

        #[test]
        fn the_touched_part_is_as_large_as_it_was(size in 1u64..1 << 40, permille in 0u64..1000) {
            let resident = (u128::from(size) * u128::from(permille) / 1000) as u64;
            let record = Record([0, Record::touching(size, share(resident, size))]);
            let touched = record.touched_bytes() as u64;
            prop_assert!(touched <= size);
            prop_assert!(touched.abs_diff(resident) <= size / 30_000 + 1, "{touched} of {resident}");
        }
    }

    #[test]
    fn each_operation_is_read_as_it_was_written() {
        for operation in Operation::ALL {
            let record = Record::plain(operation, 7, u64::MAX);
            assert_eq!((record.operation(), record.number(), record.0[1]), (operation, 7, u64::MAX));
        }
    }
}
