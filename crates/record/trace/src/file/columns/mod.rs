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
//! | extras | whatever else a kind has; [`Event`](crate::event::Event) says for each what and in which order |
//!
//! What makes it small: a free names its block by how many allocations ago it was handed out, and an allocation that
//! reuses an address names it by how many frees ago it came back (mode 1 is "the last one"). Both are short for
//! the usual last-in first-out life of blocks, and cost the writer one table lookup and the reader none.

mod column;
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

const N_COLUMNS: usize = 8;
const KINDS: usize = 0;
const DISTANCES: usize = 1;
const ADDRESSES: usize = 2;
const STACKS: usize = 3;
const NEW_STACKS: usize = 4;
const SIZES: usize = 5;
const EPOCHS: usize = 6;
const EXTRAS: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
    use crate::file::limits::Excess;
    use crate::file::records::ThreadIndex;
    use crate::live::words;
    use proptest::prelude::*;

    /// Numbers that are often the same, in the low and the high half of a word, and any others.
    fn bits() -> impl Strategy<Value = u64> {
        prop_oneof![
            3 => (0u64..64, 0u64..8, prop_oneof![Just(32u32), Just(44)]).prop_map(|(low, high, at)| low | high << at),
            1 => any::<u64>(),
        ]
    }

    /// An event of any kind, as it is in a ring. Addresses are multiples of eight, as allocators hand them out: the columns
    /// rely on it.
    fn event() -> impl Strategy<Value = Event> {
        let mut numbers = Event::WORD_NUMBERS.to_vec();
        // Blocks that come and go are what the columns are made for.
        let address = BlockAddress(8);
        let (function, stack) = (AllocFunction::Malloc, StackId(1));
        let alloc = Event::Alloc {
            address,
            size: 8,
            align_log2: 0,
            allocator: AllocatorNumber::BY_NAME,
            function,
            stack,
        };
        for event in [alloc, Event::Free { address, touched: None }] {
            numbers.extend([words::encode(event).words[0] & 0xf; 6]);
        }
        let words = (proptest::sample::select(numbers), bits(), bits(), bits(), bits());
        let decoded =
            words.prop_map(|(number, w0, w1, w2, w3)| words::decode(&[w0 << 4 | number, w1, w2, w3]));
        decoded.prop_filter_map("some words mean nothing", |decoded| match decoded?.0 {
            Event::Realloc { old, new, size, stack, touched, allocator } => {
                Some(Event::Realloc { old, new: BlockAddress(new.0 & !7), size, stack, touched, allocator })
            }
            other => Some(other),
        })
    }

    #[test]
    fn every_kind_survives_the_columns() {
        let mut seen = std::collections::HashSet::new();
        for &number in Event::WORD_NUMBERS {
            let (event, _) = words::decode(&[number | 1 << 48 | 1 << 4, 1 << 40 | 24, 1 << 40, 7 << 32])
                .expect("it is one");
            let mut encoder = EventsEncoder::default();
            encoder.add_block(ThreadIndex(0), Epoch(0), &words_of(&[event, event]));
            let payload = encoder.finish(Epoch(1));
            let section =
                EventsSection::decode(payload, &mut Excess::default()).expect("own payload decodes");
            let block = section.blocks().next().expect("a block");
            assert_eq!(block.events().collect::<Vec<_>>(), [event, event]);
            seen.insert(std::mem::discriminant(&event));
        }
        assert_eq!(seen.len(), Event::COLUMN_NUMBERS.len());
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
                allocator: AllocatorNumber::BY_NAME,
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
