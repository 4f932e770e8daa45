//! The two sides of an event's layout: a writer and a reader.
//!
//! `kinds.rs` names the place of each part of an event. A writer takes the values from the parts, and a reader stores values in
//! them, so a layout is written down once for both. A reader returns `None` if something is missing or has no meaning; a writer
//! never does.

use super::fields::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, MarkId, MarkKind, StackId};
use core::ops::Range;

/// A value that lies in some bits of a word, or in an integer of a column.
pub(crate) trait Field: Copy {
    fn to_bits(self) -> u64;
    /// `None` if no value has these bits.
    fn from_bits(bits: u64) -> Option<Self>;
}

/// The words of an event in a ring.
pub(crate) trait WordCodec {
    /// The address in the first word.
    fn address(&mut self, address: &mut BlockAddress) -> Option<()>;
    /// A value in some bits of the n-th word. It has to fit. The lowest four bits of word 0 are the number.
    fn part<T: Field>(&mut self, word: usize, bits: Range<u32>, value: &mut T) -> Option<()>;
}

/// The writer of words.
pub(crate) trait WordWriter: WordCodec {
    /// Begins with the number of the event's kind.
    fn begin(number: u64) -> Self;
}

/// In which of two lists an address is remembered, so that a later event can name it by its distance.
#[cfg(feature = "file")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mention {
    /// The address was handed out.
    Allocated = 0,
    /// It was freed.
    Freed = 1,
}

/// An event in the columns of a file (docs/format.md).
#[cfg(feature = "file")]
pub(crate) trait ColumnCodec {
    /// The epoch, as a difference to the one before.
    fn epoch(&mut self, epoch: &mut Epoch) -> Option<()>;
    fn address(&mut self, address: &mut BlockAddress, mention: Mention) -> Option<()>;
    /// The new address of a block that was at `old`: a second address of the same event, and an allocated one.
    fn new_address(&mut self, old: BlockAddress, new: &mut BlockAddress) -> Option<()>;
    /// The stack of a request, and the requested bytes.
    fn site(&mut self, stack: &mut StackId, size: &mut u64) -> Option<()>;
    /// Whatever has no column of its kind.
    fn extra<T: Field>(&mut self, value: &mut T) -> Option<()>;
    /// The same for what most events of the kind do not have. An event has at most one.
    fn optional_extra<T: Field>(&mut self, value: &mut Option<T>) -> Option<()>;
    /// The processor's clock, as a difference to the one before.
    fn ticks(&mut self, ticks: &mut u64) -> Option<()>;
}

/// The writer of columns.
#[cfg(feature = "file")]
pub(crate) trait ColumnWriter: ColumnCodec {
    /// Begins with the number of the event's kind.
    fn begin(&mut self, number: u8);
}

/// Implements [`Field`] for integers, and for what holds one.
macro_rules! fields {
    ($($integer:ty: $($holder:ident),*;)*) => {
        $(
            impl Field for $integer {
                #[inline(always)]
                fn to_bits(self) -> u64 {
                    self as u64
                }

                #[inline(always)]
                fn from_bits(bits: u64) -> Option<Self> {
                    Self::try_from(bits).ok()
                }
            }

            $(
                impl Field for $holder {
                    #[inline(always)]
                    fn to_bits(self) -> u64 {
                        self.0.to_bits()
                    }

                    #[inline(always)]
                    fn from_bits(bits: u64) -> Option<Self> {
                        Some(Self(Field::from_bits(bits)?))
                    }
                }
            )*
        )*
    };
}

fields! {
    u8: AllocatorNumber;
    u32: StackId, MarkId;
    u64: BlockAddress, Epoch;
}

impl Field for bool {
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(self)
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Option<Self> {
        Some(bits & 1 != 0)
    }
}

impl Field for AllocFunction {
    #[inline(always)]
    fn to_bits(self) -> u64 {
        self as u64
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Option<Self> {
        Some(Self::from_code((bits & 0xf) as u8))
    }
}

impl Field for MarkKind {
    #[inline(always)]
    fn to_bits(self) -> u64 {
        self as u64
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Option<Self> {
        Self::from_code(bits)
    }
}
