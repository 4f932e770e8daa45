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
//! | kind | words | extra | further words |
//! |---|---|---|---|
//! | 1 alloc | 2 | function 4 bits, alignment log2 6 bits | size 32 bits, stack 32 bits |
//! | 2 alloc, wide | 3 | as above | stack in the high half; size 64 bits |
//! | 3 free | 1 | – | – |
//! | 4 free, measured | 2 | – | touched pages |
//! | 5 realloc | 4 | 1 if touched is valid | size low 32 + stack; new address; size high 32 + touched |
//! | 6 realloc begin | 2 | 1 if touched is valid | touched |
//! | 7 realloc end | 3 | – | size low 32 + stack; size high |
//! | 8 epoch | 1 | – | the epoch is in bits 4 and up |
//! | 9 failed | 2 | function | size (saturated) and stack |
//! | 10 thread create | 2 | – | handle |
//! | 11 thread join | 2 | – | handle |
//! | 12 timed | 1 | – | the ticks are in bits 4 and up |
//! | 13 mark | 2 | – | its kind is in bits 4 and 5, its name in the high half; ticks |
//!
//! A worked example: `malloc(24)` at `0x5555_0000_12a0` by stack 7 is `0x0000_aaaa_0000_2541, 0x0000_0007_0000_0018`
//! (the address shifted right by 3 stands from bit 4 on, so it is the address itself shifted left by 1).

use crate::event::{AllocFunction, BlockAddress, Epoch, Event, MarkId, MarkKind, StackId};

/// Most words of one event.
pub const MAX_WORDS: usize = 4;

const ALLOC: u64 = 1;
const ALLOC_WIDE: u64 = 2;
const FREE: u64 = 3;
const FREE_MEASURED: u64 = 4;
const REALLOC: u64 = 5;
const REALLOC_BEGIN: u64 = 6;
const REALLOC_END: u64 = 7;
const EPOCH: u64 = 8;
const FAILED: u64 = 9;
const THREAD_CREATE: u64 = 10;
const THREAD_JOIN: u64 = 11;
const TIMED: u64 = 12;
const MARK: u64 = 13;

const KIND_MASK: u64 = 0xf;
const ADDRESS_BITS: u64 = (1 << 47) - 8;

#[inline(always)]
fn first(kind: u64, address: BlockAddress, extra: u64) -> u64 {
    kind | (address.0 & ADDRESS_BITS) << 1 | extra << 48
}

#[inline(always)]
fn address_of(word: u64) -> BlockAddress {
    BlockAddress((word >> 1) & ADDRESS_BITS)
}

/// Words of one event, ready to be copied into a ring.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The words; only the first `len` count.
    pub words: [u64; MAX_WORDS],
    /// How many there are.
    pub len: usize,
}

/// Encodes an event.
#[inline(always)]
pub fn encode(event: Event) -> Words {
    let pack = |size: u64, stack: StackId| (size & 0xffff_ffff) | u64::from(stack.0) << 32;
    match event {
        Event::Epoch(epoch) => Words { words: [EPOCH | epoch.0 << 4, 0, 0, 0], len: 1 },
        Event::Alloc { address, size, align_log2, function, stack } => {
            let extra = function as u64 | u64::from(align_log2) << 4;
            if size >> 32 == 0 {
                Words { words: [first(ALLOC, address, extra), pack(size, stack), 0, 0], len: 2 }
            } else {
                Words { words: [first(ALLOC_WIDE, address, extra), pack(0, stack), size, 0], len: 3 }
            }
        }
        Event::Free { address, touched: None } => Words { words: [first(FREE, address, 0), 0, 0, 0], len: 1 },
        Event::Free { address, touched: Some(pages) } => {
            Words { words: [first(FREE_MEASURED, address, 0), u64::from(pages), 0, 0], len: 2 }
        }
        Event::Realloc { old, new, size, stack, touched } => Words {
            words: [
                first(REALLOC, old, u64::from(touched.is_some())),
                pack(size, stack),
                new.0,
                size >> 32 | u64::from(touched.unwrap_or(0)) << 32,
            ],
            len: 4,
        },
        Event::ReallocBegin { old, touched } => Words {
            words: [
                first(REALLOC_BEGIN, old, u64::from(touched.is_some())),
                u64::from(touched.unwrap_or(0)),
                0,
                0,
            ],
            len: 2,
        },
        Event::ReallocEnd { new, size, stack } => {
            Words { words: [first(REALLOC_END, new, 0), pack(size, stack), size >> 32, 0], len: 3 }
        }
        Event::Failed { size, function, stack } => Words {
            words: [
                FAILED | (function as u64) << 48,
                pack(if size >> 32 == 0 { size } else { u64::from(u32::MAX) }, stack),
                0,
                0,
            ],
            len: 2,
        },
        Event::Timed { ticks } => Words { words: [TIMED | u64::from(ticks) << 4, 0, 0, 0], len: 1 },
        Event::ThreadCreate { handle } => Words { words: [THREAD_CREATE, handle, 0, 0], len: 2 },
        Event::ThreadJoin { handle } => Words { words: [THREAD_JOIN, handle, 0, 0], len: 2 },
        Event::Mark { kind, name, ticks } => {
            Words { words: [MARK | (kind as u64) << 4 | u64::from(name.0) << 32, ticks, 0, 0], len: 2 }
        }
    }
}

/// Decodes the event at the start of `words`, and says how many words it took. `None` if the words are not an event
/// or end within it.
#[inline]
pub fn decode(words: &[u64]) -> Option<(Event, usize)> {
    let w0 = *words.first()?;
    let extra = w0 >> 48;
    let word = |i: usize| words.get(i).copied();
    let size_of = |w: u64| w & 0xffff_ffff;
    let stack_of = |w: u64| StackId((w >> 32) as u32);
    let function = AllocFunction::from_code((extra & 0xf) as u8);
    let align_log2 = ((extra >> 4) & 0x3f) as u8;
    Some(match w0 & KIND_MASK {
        ALLOC => {
            let w1 = word(1)?;
            let (size, stack) = (size_of(w1), stack_of(w1));
            (Event::Alloc { address: address_of(w0), size, align_log2, function, stack }, 2)
        }
        ALLOC_WIDE => {
            let (stack, size) = (stack_of(word(1)?), word(2)?);
            (Event::Alloc { address: address_of(w0), size, align_log2, function, stack }, 3)
        }
        FREE => (Event::Free { address: address_of(w0), touched: None }, 1),
        FREE_MEASURED => (Event::Free { address: address_of(w0), touched: Some(word(1)? as u32) }, 2),
        REALLOC => {
            let (w1, w2, w3) = (word(1)?, word(2)?, word(3)?);
            let touched = (extra & 1 != 0).then_some((w3 >> 32) as u32);
            let size = size_of(w1) | (w3 & 0xffff_ffff) << 32;
            let (old, new) = (address_of(w0), BlockAddress(w2));
            (Event::Realloc { old, new, size, stack: stack_of(w1), touched }, 4)
        }
        REALLOC_BEGIN => {
            let touched = (extra & 1 != 0).then_some(word(1)? as u32);
            word(1)?;
            (Event::ReallocBegin { old: address_of(w0), touched }, 2)
        }
        REALLOC_END => {
            let (w1, w2) = (word(1)?, word(2)?);
            let size = size_of(w1) | w2 << 32;
            (Event::ReallocEnd { new: address_of(w0), size, stack: stack_of(w1) }, 3)
        }
        EPOCH => (Event::Epoch(Epoch(w0 >> 4)), 1),
        FAILED => {
            let w1 = word(1)?;
            (Event::Failed { size: size_of(w1), function, stack: stack_of(w1) }, 2)
        }
        TIMED => (Event::Timed { ticks: (w0 >> 4) as u32 }, 1),
        THREAD_CREATE => (Event::ThreadCreate { handle: word(1)? }, 2),
        THREAD_JOIN => (Event::ThreadJoin { handle: word(1)? }, 2),
        MARK => {
            let kind = MarkKind::from_code(w0 >> 4 & 0x3)?;
            (Event::Mark { kind, name: MarkId((w0 >> 32) as u32), ticks: word(1)? }, 2)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            check(Event::Alloc { address, size, align_log2: 12, function, stack });
            check(Event::ReallocEnd { new: address, size, stack });
            for touched in [None, Some(0), Some(u32::MAX)] {
                check(Event::Realloc { old: address, new: BlockAddress(8), size, stack, touched });
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
        assert_eq!(decode(&[MARK | 3 << 4, 1]), None);
    }

    const CLOCK_LIMIT: u64 = (1 << 60) - 1;

    #[test]
    fn the_worked_example_of_the_module_documentation_is_true() {
        let event = Event::Alloc {
            address: BlockAddress(0x5555_0000_12a0),
            size: 24,
            align_log2: 0,
            function: AllocFunction::Malloc,
            stack: StackId(7),
        };
        let w = encode(event);
        assert_eq!(w.words[..w.len], [0x0000_aaaa_0000_2541, 0x0000_0007_0000_0018]);
    }
}
