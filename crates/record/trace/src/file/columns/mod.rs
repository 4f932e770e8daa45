//! Events in columns.
//!
//! A section of events holds one *block* per thread that has had events since the section before. Within a block each
//! field has a separate column, because zstd then finds the repetition in it:
//!
//! ```text
//! payload   watermark, number of blocks, blocks
//! block     thread, epoch of the first event, number of events, 8 × (column length, column)
//! ```
//!
//! | column | content |
//! |---|---|
//! | kinds | a byte per event: kind in bits 0..4, `EXTRA` 16, `SAME_SIZE` 32, mode of the address in bits 6..8 |
//! | distances | of addresses in mode 2: how many blocks ago the address was last mentioned |
//! | addresses | of addresses in mode 0: signed difference to the one before in this column, in units of 8 bytes |
//! | stacks | index in the block's dictionary; an index equal to its length so far adds the next new stack |
//! | new stacks | stack ids that enter the dictionary: signed difference to the one before |
//! | sizes | requested bytes, unless `SAME_SIZE`: then it is that of the same stack's previous block |
//! | epochs | difference to the epoch before |
//! | extras | alignment and function, touched pages, the new address of a resize, ticks, thread handles, marks |
//!
//! What makes it small: a free names its block by how many allocations ago it was handed out, and an allocation that
//! reuses an address names it by how many frees ago it came back (mode 1 is "the last one"). Both are short for
//! the usual last-in first-out life of blocks, and cost the writer one table lookup and the reader none.

mod decode;
mod encode;

pub use decode::{Block, BlockEvents, EventsSection};
pub use encode::EventsEncoder;

const KIND_MASK: u8 = 0x0f;
const EXTRA: u8 = 0x10;
const SAME_SIZE: u8 = 0x20;
const MODE_SHIFT: u32 = 6;
const MODE_RAW: u8 = 0;
const MODE_LAST: u8 = 1;
const MODE_DISTANCE: u8 = 2;

const ALLOC: u8 = 1;
const FREE: u8 = 2;
const REALLOC: u8 = 3;
const REALLOC_BEGIN: u8 = 4;
const REALLOC_END: u8 = 5;
const EPOCH: u8 = 6;
const FAILED: u8 = 7;
const THREAD_CREATE: u8 = 8;
const THREAD_JOIN: u8 = 9;
const TIMED: u8 = 10;
const MARK: u8 = 11;

const N_COLUMNS: usize = 8;
const KINDS: usize = 0;
const DISTANCES: usize = 1;
const ADDRESSES: usize = 2;
const STACKS: usize = 3;
const NEW_STACKS: usize = 4;
const SIZES: usize = 5;
const EPOCHS: usize = 6;
const EXTRAS: usize = 7;

/// The two classes of mentions of an address.
const ALLOCATED: usize = 0;
const FREED: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AllocFunction, BlockAddress, Epoch, Event, MarkId, MarkKind, StackId, TouchedPages};
    use crate::file::limits::Excess;
    use crate::file::records::ThreadIndex;
    use crate::live::words;
    use proptest::prelude::*;

    fn touched() -> impl Strategy<Value = TouchedPages> {
        proptest::option::of(any::<u32>())
    }

    fn event() -> impl Strategy<Value = Event> {
        let address = prop_oneof![0u64..64, 0u64..1 << 44].prop_map(|a| BlockAddress(a << 3));
        let stack = prop_oneof![(0u32..8), any::<u32>()].prop_map(StackId);
        let size = prop_oneof![0u64..32, 0u64..1 << 48];
        let function = (0u8..9).prop_map(AllocFunction::from_code);
        let site = (address.clone(), size.clone(), stack.clone());
        prop_oneof![
            4 => (site.clone(), 0u8..48, function.clone()).prop_map(|((address, size, stack), align_log2, function)| {
                Event::Alloc { address, size, align_log2, function, stack }
            }),
            4 => (address.clone(), touched()).prop_map(|(address, touched)| Event::Free { address, touched }),
            1 => (site.clone(), address.clone(), touched()).prop_map(|((old, size, stack), new, touched)| {
                Event::Realloc { old, new, size, stack, touched }
            }),
            1 => (address, touched()).prop_map(|(old, touched)| Event::ReallocBegin { old, touched }),
            1 => site.prop_map(|(new, size, stack)| Event::ReallocEnd { new, size, stack }),
            1 => (0u64..1 << 60).prop_map(|e| Event::Epoch(Epoch(e))),
            1 => (0u64..u64::from(u32::MAX), function, stack)
                .prop_map(|(size, function, stack)| Event::Failed { size, function, stack }),
            1 => any::<u32>().prop_map(|ticks| Event::Timed { ticks }),
            1 => any::<u64>().prop_map(|handle| Event::ThreadCreate { handle }),
            1 => any::<u64>().prop_map(|handle| Event::ThreadJoin { handle }),
            1 => (0u64..3, any::<u32>(), any::<u64>()).prop_map(|(kind, name, ticks)| {
                let kind = MarkKind::from_code(kind).expect("there are three kinds");
                Event::Mark { kind, name: MarkId(name), ticks }
            }),
        ]
    }

    fn words_of(events: &[Event]) -> Vec<u64> {
        let encoded = events.iter().map(|&e| words::encode(e));
        encoded.flat_map(|w| w.words[..w.len].to_vec()).collect()
    }

    proptest! {
        #[test]
        fn events_survive_the_columns(blocks in proptest::collection::vec(proptest::collection::vec(event(), 1..400), 1..4)) {
            let mut encoder = EventsEncoder::default();
            for (i, events) in blocks.iter().enumerate() {
                let (_, n) = encoder.add_block(ThreadIndex(i as u32), Epoch(5), &words_of(events));
                prop_assert_eq!(n, events.len() as u64);
            }
            let section = EventsSection::decode(encoder.finish(Epoch(9)), &mut Excess::default()).expect("own payload decodes");
            prop_assert_eq!(section.watermark, Epoch(9));
            for (i, block) in section.blocks().enumerate() {
                prop_assert_eq!(block.thread(), ThreadIndex(i as u32));
                prop_assert_eq!(&block.events().collect::<Vec<_>>(), &blocks[i]);
            }
        }

        #[test]
        fn garbage_is_refused_without_a_panic(bytes: Vec<u8>, at: prop::sample::Index, events in proptest::collection::vec(event(), 1..50)) {
            if let Some(section) = EventsSection::decode(bytes, &mut Excess::default()) {
                section.blocks().for_each(|b| b.events().for_each(drop));
            }
            let mut encoder = EventsEncoder::default();
            encoder.add_block(ThreadIndex(0), Epoch(0), &words_of(&events));
            let mut payload = encoder.finish(Epoch(1));
            let at = at.index(payload.len());
            payload[at] ^= 0x55;
            if let Some(section) = EventsSection::decode(payload, &mut Excess::default()) {
                section.blocks().for_each(|b| b.events().for_each(drop));
            }
        }
    }

    #[test]
    fn immediate_frees_cost_almost_nothing() {
        let mut events = Vec::new();
        for i in 0..10_000u64 {
            let address = BlockAddress(0x5555_0000 + (i % 3) * 64);
            let stack = StackId(7);
            events.push(Event::Alloc {
                address,
                size: 48,
                align_log2: 0,
                function: AllocFunction::Malloc,
                stack,
            });
            events.push(Event::Free { address, touched: None });
        }
        let mut encoder = EventsEncoder::default();
        encoder.add_block(ThreadIndex(0), Epoch(0), &words_of(&events));
        let payload = encoder.finish(Epoch(1));
        let packed = zstd::bulk::compress(&payload, 1).expect("memory is there");
        assert!(packed.len() < events.len() / 20, "{} bytes for {} events", packed.len(), events.len());
    }
}
