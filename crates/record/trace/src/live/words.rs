//! Events as 64-bit words in a ring.
//!
//! The first word of every event:
//!
//! ```text
//! 63          48 47                               4 3    0
//! ┌─────────────┬──────────────────────────────────┬──────┐
//! │    extra    │      address >> 3, 44 bits       │ kind │
//! └─────────────┴──────────────────────────────────┴──────┘
//! ```
//!
//! *Kind* is the number of the event's kind, and *address* that of the block; *extra* is what else there is room for. Kinds without
//! an address have other things there. Up to three further words follow. [`Event`] says for each kind what lies where, in one
//! place for both directions; a number that is no kind's ends the reading, and so does the 0 of memory that was never written.
//!
//! A worked example: `malloc(24)` at `0x5555_0000_12a0` by stack 7 is `0x0000_aaaa_0000_2541, 0x0000_0007_0000_0018`
//! (the address shifted right by 3 stands from bit 4 on, so it is the address itself shifted left by 1).

#[cfg(feature = "file")]
use crate::event::codec::ColumnWriter;
use crate::event::codec::{Field, WordCodec, WordWriter};
use crate::event::{BlockAddress, Event};
use core::ops::Range;

/// Most words of one event.
pub const MAX_WORDS: usize = 4;

const KIND_MASK: u64 = 0xf;
const ADDRESS_BITS: u64 = (1 << 47) - 8;

/// Words of one event, ready to be copied into a ring.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The words; only the first `len` count.
    pub words: [u64; MAX_WORDS],
    /// How many there are.
    pub len: usize,
}

impl WordWriter for Words {
    #[inline(always)]
    fn begin(number: u64) -> Self {
        Words { words: [number, 0, 0, 0], len: 1 }
    }
}

/// PERF: all of this becomes a few shifts of values in registers, since every place is a constant where the code is inlined.
impl WordCodec for Words {
    #[inline(always)]
    fn address(&mut self, address: &mut BlockAddress) -> Option<()> {
        self.words[0] |= (address.0 & ADDRESS_BITS) << 1;
        Some(())
    }

    #[inline(always)]
    fn part<T: Field>(&mut self, word: usize, bits: Range<u32>, value: &mut T) -> Option<()> {
        self.words[word] |= value.to_bits() << bits.start;
        self.len = self.len.max(word + 1);
        Some(())
    }
}

/// Encodes an event.
#[inline(always)]
pub fn encode(event: Event) -> Words {
    // A writer never returns `None`.
    event.write_words().unwrap_or(Words { words: [0; MAX_WORDS], len: 0 })
}

/// Words that may begin with an event.
struct Reader<'a> {
    words: &'a [u64],
    first: u64,
    /// How many words the event has taken.
    used: usize,
}

impl WordCodec for Reader<'_> {
    #[inline(always)]
    fn address(&mut self, address: &mut BlockAddress) -> Option<()> {
        address.0 = (self.first >> 1) & ADDRESS_BITS;
        Some(())
    }

    #[inline(always)]
    fn part<T: Field>(&mut self, word: usize, bits: Range<u32>, value: &mut T) -> Option<()> {
        let whole = if word == 0 { self.first } else { *self.words.get(word)? };
        *value = T::from_bits(whole >> bits.start & u64::MAX >> (64 - (bits.end - bits.start)))?;
        self.used = self.used.max(word + 1);
        Some(())
    }
}

/// Decodes the event at the start of `words`, and says how many words it took. `None` if the words are not an event
/// or end within it.
#[inline]
pub fn decode(words: &[u64]) -> Option<(Event, usize)> {
    let first = *words.first()?;
    let mut reader = Reader { words, first, used: 1 };
    let event = Event::read_words(first & KIND_MASK, &mut reader)?;
    Some((event, reader.used))
}

/// Copies the event at the start of `words` to columns, and says how many words it took. `None`, and nothing is written, if the words
/// are not an event or end within it.
#[cfg(feature = "file")]
#[inline(always)]
pub(crate) fn copy(words: &[u64], to: &mut impl ColumnWriter) -> Option<usize> {
    let first = *words.first()?;
    let mut reader = Reader { words, first, used: 1 };
    Event::copy(first & KIND_MASK, &mut reader, to)?;
    Some(reader.used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AllocFunction, AllocatorNumber, Epoch, MarkId, MarkKind, StackId};
    use proptest::prelude::*;

    #[track_caller]
    fn check(event: Event) {
        let w = encode(event);
        assert_eq!(decode(&w.words[..w.len]), Some((event, w.len)));
        for short in 0..w.len {
            assert_eq!(decode(&w.words[..short]), None, "an event cut to {short} words");
        }
    }

    #[test]
    fn every_event_survives_the_ring() {
        let (address, stack) = (BlockAddress(0x7fff_ffff_fff8), StackId(u32::MAX));
        let function = AllocFunction::Calloc;
        for size in [0, 1, u64::from(u32::MAX), 1 << 32, 1 << 46] {
            check(Event::Alloc {
                address,
                size,
                align_log2: 12,
                allocator: AllocatorNumber::BY_NAME,
                function,
                stack,
            });
            check(Event::ReallocEnd { new: address, size, stack, allocator: AllocatorNumber(7) });
            for touched in [None, Some(0), Some(u32::MAX)] {
                let (new, allocator) = (BlockAddress(8), AllocatorNumber::OTHERS);
                check(Event::Realloc { old: address, new, size, stack, touched, allocator });
            }
        }
        for touched in [None, Some(0), Some(77)] {
            check(Event::Free { address, touched });
            check(Event::ReallocBegin { old: address, touched });
        }
        check(Event::Timed { ticks: u32::MAX });
        check(Event::Failed { size: 77, function, stack });
        check(Event::Epoch(Epoch(CLOCK_LIMIT)));
        check(Event::ThreadCreate { handle: u64::MAX });
        check(Event::ThreadJoin { handle: 1 });
        for kind in [MarkKind::Point, MarkKind::Begin, MarkKind::End] {
            check(Event::Mark { kind, name: MarkId(u32::MAX), ticks: u64::MAX });
            check(Event::Mark { kind, name: MarkId::OTHER, ticks: 0 });
        }
    }

    #[test]
    fn a_mark_of_a_kind_that_does_not_exist_is_no_event() {
        let [mark, _] = encode(Event::Mark { kind: MarkKind::Point, name: MarkId(1), ticks: 1 }).words[..2]
        else {
            panic!("a mark has two words");
        };
        assert!(decode(&[mark, 1]).is_some());
        assert_eq!(decode(&[mark | 3 << 4, 1]), None);
    }

    #[test]
    fn every_kind_is_read_and_written_with_its_number() {
        for &number in Event::WORD_NUMBERS {
            let words = [number | 1 << 4, u64::MAX, u64::MAX, u64::MAX];
            let (event, used) = decode(&words).unwrap_or_else(|| panic!("number {number} is no event"));
            let written = encode(event);
            assert_eq!((written.words[0] & KIND_MASK, written.len), (number, used), "{event:?}");
            check(event);
        }
        for number in (0..=KIND_MASK).filter(|number| !Event::WORD_NUMBERS.contains(number)) {
            assert_eq!(decode(&[number, 1, 1, 1]), None, "{number} is no kind");
        }
    }

    proptest! {
        #[test]
        fn what_any_words_mean_survives_the_ring(any: [u64; MAX_WORDS]) {
            for &number in Event::WORD_NUMBERS {
                let [first, rest @ ..] = any;
                let words = [&[first & !KIND_MASK | number], &rest[..]].concat();
                let Some((event, used)) = decode(&words) else { continue };
                prop_assert!(used <= MAX_WORDS);
                let written = encode(event);
                prop_assert_eq!(decode(&written.words[..written.len]), Some((event, written.len)));
            }
        }
    }

    const CLOCK_LIMIT: u64 = (1 << 60) - 1;

    #[test]
    fn the_worked_example_of_the_module_documentation_is_true() {
        let event = Event::Alloc {
            address: BlockAddress(0x5555_0000_12a0),
            size: 24,
            align_log2: 0,
            allocator: AllocatorNumber::BY_NAME,
            function: AllocFunction::Malloc,
            stack: StackId(7),
        };
        let w = encode(event);
        assert_eq!(w.words[..w.len], [0x0000_aaaa_0000_2541, 0x0000_0007_0000_0018]);
    }
}
