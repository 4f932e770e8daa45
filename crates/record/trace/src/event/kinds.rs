//! The kinds of events: what each consists of, and where its parts lie in words and in columns.
//!
//! A kind is one block of `kinds!` below. Its parts become a variant of [`Event`]. The code behind them names the place of each
//! part (`codec.rs`), and runs for writing and for reading: the parts are references, to the values of an event that is written,
//! or to zeros that a reader fills in. A kind may have a second form in words, with its own number, for the rare events for
//! which a condition holds.

#[cfg(feature = "file")]
use super::codec::{ColumnCodec, ColumnWriter, Field, Mention};
use super::codec::{WordCodec, WordWriter};
use super::fields::{
    AllocFunction, AllocatorNumber, BlockAddress, Epoch, MarkId, MarkKind, StackId, TouchedPages,
};

/// Reads an event: its parts are zeros, until the code with the places fills them in; the second one if its condition holds.
macro_rules! read {
    (
        $kind:ident $(($($content:ident: $content_type:ty),*))? $({ $($part:ident: $part_type:ty),* })?
        from $places:block $(or if $is_second:expr => $other_places:block)?
    ) => {{
        $($(let mut $content = <$content_type>::default();)*)?
        $($(let mut $part = <$part_type>::default();)*)?
        {
            $($(let $content = &mut $content;)*)?
            $($(let $part = &mut $part;)*)?
            $(if $is_second $other_places else)? $places
        }?;
        Some(Self::$kind $(($($content),*))? $({ $($part),* })?)
    }};
}

/// Makes the type of all events, and what writes and reads them.
macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident
        $(($($content:ident: $content_type:ty),*))?
        $({ $($(#[$part_doc:meta])* $part:ident: $part_type:ty,)* })?
        words $number:literal => |$w:ident| $words:block
        $(words $second:literal if $is_second:expr => |$v:ident| $other_words:block)?
        columns $column:literal => |$c:ident| $columns:block
    )*) => {
        /// One event of one thread, in the thread's own order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $(
                $(#[$doc])*
                $kind $(($($content_type),*))? $({ $($(#[$part_doc])* $part: $part_type),* })?,
            )*
        }

        impl Event {
            /// The numbers of all kinds in words; some have two. For tests that go over all kinds.
            pub const WORD_NUMBERS: &[u64] = &[$($number, $($second,)?)*];

            /// The numbers and names of all kinds in columns.
            #[cfg(feature = "file")]
            pub const COLUMN_NUMBERS: &[(u8, &str)] = &[$(($column, stringify!($kind))),*];

            /// Writes it as words.
            #[inline(always)]
            pub(crate) fn write_words<W: WordWriter>(mut self) -> Option<W> {
                match &mut self {
                    $(Self::$kind $(($($content),*))? $({ $($part),* })? => {
                        $(if $is_second {
                            let mut words = W::begin($second);
                            {
                                let $v = &mut words;
                                $other_words
                            }?;
                            return Some(words);
                        })?
                        let mut words = W::begin($number);
                        {
                            let $w = &mut words;
                            $words
                        }?;
                        Some(words)
                    })*
                }
            }

            /// Reads the event of this number from words.
            #[inline(always)]
            pub(crate) fn read_words(number: u64, from: &mut impl WordCodec) -> Option<Self> {
                match number {
                    $($number $(| $second)? => read!(
                        $kind $(($($content: $content_type),*))? $({ $($part: $part_type),* })?
                        from { let $w = from; $words }
                        $(or if number == $second => { let $v = from; $other_words })?
                    ),)*
                    _ => None,
                }
            }

            /// Copies the event of this number from words to columns.
            ///
            /// PERF: 15 to 30 % faster than reading it and writing it, since its parts never are together in memory.
            #[cfg(feature = "file")]
            #[inline(always)]
            pub(crate) fn copy(
                number: u64,
                from: &mut impl WordCodec,
                to: &mut impl ColumnWriter,
            ) -> Option<()> {
                match number {
                    $($number $(| $second)? => {
                        $($(let $content = &mut <$content_type>::default();)*)?
                        $($(let $part = &mut <$part_type>::default();)*)?
                        {
                            $(if number == $second {
                                let $v = from;
                                $other_words
                            } else)? {
                                let $w = from;
                                $words
                            }
                        }?;
                        to.begin($column);
                        let $c = to;
                        $columns
                    })*
                    _ => None,
                }
            }

            /// Reads the event of this number from columns.
            #[cfg(feature = "file")]
            #[inline(always)]
            pub(crate) fn read_columns(number: u8, from: &mut impl ColumnCodec) -> Option<Self> {
                match number {
                    $($column => read!(
                        $kind $(($($content: $content_type),*))? $({ $($part: $part_type),* })?
                        from { let $c = from; $columns }
                    ),)*
                    _ => None,
                }
            }
        }
    };
}

/// The low and the high half of a size.
#[inline(always)]
fn halves(size: u64) -> (u32, u32) {
    (size as u32, (size >> 32) as u32)
}

#[inline(always)]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

kinds! {
    /// The epoch of all following events of this thread, until the next `Epoch`.
    Epoch(epoch: Epoch)
    words 8 => |w| { w.part(0, 4..64, epoch) }
    columns 6 => |c| { c.epoch(epoch) }

    /// A block was handed out.
    Alloc {
        address: BlockAddress,
        /// Requested bytes.
        size: u64,
        /// Binary logarithm of the requested alignment, 0 if none was requested.
        align_log2: u8,
        function: AllocFunction,
        /// Whose block it is.
        allocator: AllocatorNumber,
        /// The stack of the request.
        stack: StackId,
    }
    words 1 => |w| {
        w.address(address)?;
        w.part(0, 48..52, function)?;
        w.part(0, 52..58, align_log2)?;
        w.part(0, 58..64, allocator)?;
        w.part(1, 0..32, size)?;
        w.part(1, 32..64, stack)
    }
    words 2 if *size >> 32 != 0 => |w| {
        w.address(address)?;
        w.part(0, 48..52, function)?;
        w.part(0, 52..58, align_log2)?;
        w.part(0, 58..64, allocator)?;
        w.part(1, 32..64, stack)?;
        w.part(2, 0..64, size)
    }
    columns 1 => |c| {
        c.address(address, Mention::Allocated)?;
        c.site(stack, size)?;
        let how = allocator.to_bits() << 10 | align_log2.to_bits() << 4 | function.to_bits();
        let mut extra = (how != 0).then_some(how);
        c.optional_extra(&mut extra)?;
        let how = extra.unwrap_or(0);
        *allocator = AllocatorNumber((how >> 10 & 0x3f) as u8);
        *align_log2 = (how >> 4 & 0x3f) as u8;
        *function = AllocFunction::from_bits(how)?;
        Some(())
    }

    /// A block was freed.
    Free {
        /// Where it began.
        address: BlockAddress,
        /// What of it was resident.
        touched: TouchedPages,
    }
    words 3 => |w| { w.address(address) }
    words 4 if touched.is_some() => |w| {
        w.address(address)?;
        w.part(1, 0..32, touched.get_or_insert_default())
    }
    columns 2 => |c| {
        c.address(address, Mention::Freed)?;
        c.optional_extra(touched)
    }

    /// A block was resized, in place (`old == new`) or by moving it.
    Realloc {
        /// Where it began.
        old: BlockAddress,
        /// Where it begins now.
        new: BlockAddress,
        /// Requested bytes.
        size: u64,
        /// The stack of the request.
        stack: StackId,
        /// What of the old block was resident.
        touched: TouchedPages,
        /// Whose block it is.
        allocator: AllocatorNumber,
    }
    words 5 => |w| {
        let (mut low, mut high) = halves(*size);
        let (mut is_measured, mut pages) = (touched.is_some(), touched.unwrap_or(0));
        w.address(old)?;
        w.part(0, 48..49, &mut is_measured)?;
        w.part(0, 58..64, allocator)?;
        w.part(1, 0..32, &mut low)?;
        w.part(1, 32..64, stack)?;
        w.part(2, 0..64, new)?;
        w.part(3, 0..32, &mut high)?;
        w.part(3, 32..64, &mut pages)?;
        *size = joined(low, high);
        *touched = is_measured.then_some(pages);
        Some(())
    }
    columns 3 => |c| {
        c.address(old, Mention::Freed)?;
        c.site(stack, size)?;
        let how = allocator.to_bits() << 33 | u64::from(touched.is_none()) << 32 | u64::from(touched.unwrap_or(0));
        let mut extra = (how != 1 << 32).then_some(how);
        c.optional_extra(&mut extra)?;
        let how = extra.unwrap_or(1 << 32);
        *allocator = AllocatorNumber((how >> 33 & 0x3f) as u8);
        *touched = (how >> 32 & 1 == 0).then_some(how as u32);
        c.new_address(*old, new)
    }

    /// The first half of a reallocation during which the epoch changed: the old block is freed.
    ReallocBegin {
        /// Where it began.
        old: BlockAddress,
        /// What of the old block was resident.
        touched: TouchedPages,
    }
    words 6 => |w| {
        let (mut is_measured, mut pages) = (touched.is_some(), touched.unwrap_or(0));
        w.address(old)?;
        w.part(0, 48..49, &mut is_measured)?;
        w.part(1, 0..32, &mut pages)?;
        *touched = is_measured.then_some(pages);
        Some(())
    }
    columns 4 => |c| {
        c.address(old, Mention::Freed)?;
        c.optional_extra(touched)
    }

    /// The second half: the block is at its new place. Follows this thread's `ReallocBegin`.
    ReallocEnd {
        /// Where it begins now.
        new: BlockAddress,
        /// Requested bytes.
        size: u64,
        /// The stack of the request.
        stack: StackId,
        /// Whose block it is.
        allocator: AllocatorNumber,
    }
    words 7 => |w| {
        let (mut low, mut high) = halves(*size);
        w.address(new)?;
        w.part(0, 58..64, allocator)?;
        w.part(1, 0..32, &mut low)?;
        w.part(1, 32..64, stack)?;
        w.part(2, 0..32, &mut high)?;
        *size = joined(low, high);
        Some(())
    }
    columns 5 => |c| {
        c.address(new, Mention::Allocated)?;
        c.site(stack, size)?;
        let mut extra = (allocator.0 != 0).then_some(*allocator);
        c.optional_extra(&mut extra)?;
        *allocator = extra.unwrap_or_default().min(AllocatorNumber::OTHERS);
        Some(())
    }

    /// An allocation was refused by the allocator.
    Failed {
        /// Requested bytes, at most `u32::MAX`.
        size: u64,
        function: AllocFunction,
        /// The stack of the request.
        stack: StackId,
    }
    words 9 => |w| {
        let mut at_most = u32::try_from(*size).unwrap_or(u32::MAX);
        w.part(0, 48..52, function)?;
        w.part(1, 0..32, &mut at_most)?;
        w.part(1, 32..64, stack)?;
        *size = u64::from(at_most);
        Some(())
    }
    columns 7 => |c| {
        c.site(stack, size)?;
        c.extra(function)
    }

    /// How long the allocator took for the call of this thread's last event. Measured for a few calls only.
    Timed {
        /// Ticks of the processor's clock.
        ticks: u32,
    }
    words 12 => |w| { w.part(0, 4..36, ticks) }
    columns 10 => |c| { c.extra(ticks) }

    /// This thread started another one, whose [`pthread_self`](crate::live::layout::RingHeader::handle) this is.
    ThreadCreate {
        /// The `pthread_t` of the new thread.
        handle: u64,
    }
    words 10 => |w| { w.part(1, 0..64, handle) }
    columns 8 => |c| { c.extra(handle) }

    /// This thread waited for the end of another one.
    ThreadJoin {
        /// The `pthread_t` of the ended thread.
        handle: u64,
    }
    words 11 => |w| { w.part(1, 0..64, handle) }
    columns 9 => |c| { c.extra(handle) }

    /// The program itself says what it is doing. No call of the allocator.
    Mark {
        kind: MarkKind,
        /// Its name in the program.
        name: MarkId,
        /// The processor's clock at this moment, to measure spans that are shorter than an epoch; 0 where there is none.
        ticks: u64,
    }
    words 13 => |w| {
        w.part(0, 4..6, kind)?;
        w.part(0, 32..64, name)?;
        w.part(1, 0..64, ticks)
    }
    columns 11 => |c| {
        let mut what = name.to_bits() << 2 | kind.to_bits();
        c.extra(&mut what)?;
        *kind = MarkKind::from_bits(what & 0x3)?;
        *name = MarkId::from_bits(what >> 2)?;
        c.ticks(ticks)
    }
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_its_own_numbers_and_they_fit() {
        let words: BTreeSet<u64> = Event::WORD_NUMBERS.iter().copied().collect();
        assert_eq!(words.len(), Event::WORD_NUMBERS.len());
        let columns: BTreeSet<u8> = Event::COLUMN_NUMBERS.iter().map(|(number, _)| *number).collect();
        assert_eq!(columns.len(), Event::COLUMN_NUMBERS.len());
        // Four bits each; what was never written is no event.
        assert!(words.iter().all(|number| (1..16).contains(number)), "{words:?}");
        assert!(columns.iter().all(|number| (1..16).contains(number)), "{columns:?}");
    }
}
