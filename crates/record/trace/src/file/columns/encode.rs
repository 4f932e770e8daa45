//! The writer's side: from the words of a ring to columns.
//!
//! It runs while the program does, so its tables have a fixed size and are not cleared for a block: a stamp, or an ordinal that is too low,
//! distinguishes older entries from those of this block.

use super::column::Column;
use super::{
    ADDRESSES, DISTANCES, EPOCHS, EXTRA, EXTRAS, KINDS, MODE_DISTANCE, MODE_LAST, MODE_RAW, MODE_SHIFT,
    N_COLUMNS, NEW_STACKS, SAME_SIZE, SIZES, STACKS,
};
use crate::event::codec::{ColumnCodec, ColumnWriter, Field, Mention};
use crate::event::{BlockAddress, Epoch, StackId};
use crate::file::cursor::Put;
use crate::file::records::ThreadIndex;
use crate::live::words;

/// Slots of the writer's tables. A collision only costs bytes, so they are small enough to stay in the cache.
const ADDRESS_SLOTS: usize = 1 << 15;
const STACK_SLOTS: usize = 1 << 12;
/// Events for which room is made at once, and integers of an event that may go into one column.
const EVENTS_AT_ONCE: usize = 1 << 10;
const MOST_OF_COLUMN: usize = 4;

/// When an address was mentioned last: the ordinal among all mentions of its kind in bits 1 to 34, that kind in bit 0, and above them
/// what of the address the slot does not say.
///
/// PERF: eight bytes, so that all slots together leave room in the second cache.
#[derive(Clone, Copy, Debug, Default)]
struct AddressSlot(u64);

/// Addresses of blocks are below 2 to the power of this, and the lowest three bits of them are zero.
const ADDRESS_BITS: u32 = 47;
/// Of the other 44 bits, 15 are the slot's number.
const TAG_SHIFT: u32 = 35;
const _: () = assert!(ADDRESS_BITS - 3 - ADDRESS_SLOTS.trailing_zeros() == u64::BITS - TAG_SHIFT);
/// Before an ordinal has more bits than there are for it, all slots are cleared.
const MOST_MENTIONS: u64 = 1 << (TAG_SHIFT - 2);

/// The slot of an address and its tag. No two addresses have both in common.
#[inline(always)]
fn place(address: BlockAddress) -> (usize, u64) {
    const MASK: u64 = (1 << (ADDRESS_BITS - 3)) - 1;
    // An odd factor makes of each number of so many bits another one.
    let mixed = (address.0 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) & MASK;
    let tag_bits = u64::BITS - TAG_SHIFT;
    ((mixed >> tag_bits) as usize, mixed << TAG_SHIFT)
}

#[derive(Clone, Copy, Debug, Default)]
struct StackSlot {
    stack: u32,
    block: u32,
    index: u32,
}

/// Writes events of one ring after another into the payload of a section. Keeps its tables, so use it again.
#[derive(Debug)]
pub struct EventsEncoder {
    blocks: Vec<u8>,
    n_blocks: u64,
    columns: [Column; N_COLUMNS],
    mentions: Box<[AddressSlot]>,
    stacks: Box<[StackSlot]>,
    dictionary_sizes: Vec<u64>,
    /// Stamp that distinguishes this block's table entries from older ones.
    block: u32,
    n_events: u64,
    /// Mentions of each kind so far, and at the start of the block. Older ones are those of other blocks.
    counts: [u64; 2],
    counts_before: [u64; 2],
    last_address: u64,
    last_stack: u32,
    last_ticks: u64,
    epoch: u64,
    left_over: usize,
}

impl Default for EventsEncoder {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            n_blocks: 0,
            columns: Default::default(),
            mentions: vec![AddressSlot::default(); ADDRESS_SLOTS].into(),
            stacks: vec![StackSlot::default(); STACK_SLOTS].into(),
            dictionary_sizes: Vec::new(),
            block: 0,
            n_events: 0,
            counts: [1; 2],
            counts_before: [1; 2],
            last_address: 0,
            last_stack: 0,
            last_ticks: 0,
            epoch: 0,
            left_over: 0,
        }
    }
}

impl EventsEncoder {
    /// Adds a block: the words of one thread, as drained from its ring. Returns the epoch after the last event and
    /// how many events there were; words that are no event end the block. A block without events is not written.
    pub fn add_block(&mut self, thread: ThreadIndex, first: Epoch, words: &[u64]) -> (Epoch, u64) {
        self.block += 1;
        self.n_events = 0;
        if self.counts.iter().any(|&count| count + words.len() as u64 >= MOST_MENTIONS) {
            self.mentions.fill(AddressSlot::default());
            self.counts = [1; 2];
        }
        self.counts_before = self.counts;
        self.last_address = 0;
        self.last_stack = 0;
        self.last_ticks = 0;
        self.epoch = first.0;
        self.dictionary_sizes.clear();
        self.columns.iter_mut().for_each(Column::clear);
        let mut rest = words;
        loop {
            let before = rest.len();
            rest = self.add_events(rest);
            if rest.is_empty() || rest.len() == before {
                break;
            }
        }
        self.left_over = rest.len();
        if self.n_events == 0 {
            return (first, 0);
        }
        self.blocks.put(u64::from(thread.0));
        self.blocks.put(first.0);
        self.blocks.put(self.n_events);
        for column in &self.columns {
            self.blocks.put_bytes(column.as_bytes());
        }
        self.n_blocks += 1;
        (Epoch(self.epoch), self.n_events)
    }

    /// Adds the first of some events. Returns the words behind them.
    fn add_events<'w>(&mut self, mut rest: &'w [u64]) -> &'w [u64] {
        self.columns.iter_mut().for_each(|column| column.reserve(EVENTS_AT_ONCE * MOST_OF_COLUMN));
        for _ in 0..EVENTS_AT_ONCE {
            let mut line = Line { encoder: self, kind: 0 };
            let Some(used) = words::copy(rest, &mut line) else { break };
            let kind = line.kind;
            self.columns[KINDS].push(kind);
            self.n_events += 1;
            rest = &rest[used..];
        }
        rest
    }

    /// Words at the end of the last block that are no event.
    pub fn left_over(&self) -> usize {
        self.left_over
    }

    /// Bytes of the payload so far.
    pub fn len(&self) -> usize {
        self.blocks.len() + 20
    }

    /// Whether no block was added.
    pub fn is_empty(&self) -> bool {
        self.n_blocks == 0
    }

    /// The payload of a section whose blocks hold every event that was published before the clock said `watermark`.
    pub fn finish(&mut self, watermark: Epoch) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.len());
        payload.put(watermark.0);
        payload.put(self.n_blocks);
        payload.extend_from_slice(&self.blocks);
        self.blocks.clear();
        self.n_blocks = 0;
        payload
    }

    /// Notes that an address is mentioned now. Returns how many mentions of the other kind ago it was mentioned last, if that was in
    /// this block and of that kind.
    #[inline(always)]
    fn mention(&mut self, address: BlockAddress, mention: Mention) -> Option<u64> {
        let (class, other) = (mention as usize, 1 - mention as usize);
        let (at, tag) = place(address);
        let slot = &mut self.mentions[at];
        let before = slot.0;
        slot.0 = tag | self.counts[class] << 1 | class as u64;
        self.counts[class] += 1;
        // What is not the same in both has a bit above those of ordinals.
        let mentioned = (before ^ tag) >> 1;
        let is_known = mentioned >= self.counts_before[other]
            && mentioned < self.counts[other]
            && before & 1 == other as u64;
        is_known.then(|| self.counts[other] - mentioned)
    }
}

/// An event that is being written, with the byte of its kind.
struct Line<'a> {
    encoder: &'a mut EventsEncoder,
    kind: u8,
}

impl ColumnWriter for Line<'_> {
    #[inline(always)]
    fn begin(&mut self, number: u8) {
        self.kind = number;
    }
}

impl ColumnCodec for Line<'_> {
    #[inline(always)]
    fn epoch(&mut self, epoch: &mut Epoch) -> Option<()> {
        let encoder = &mut *self.encoder;
        encoder.columns[EPOCHS].put(epoch.0.wrapping_sub(encoder.epoch));
        encoder.epoch = epoch.0;
        Some(())
    }

    #[inline(always)]
    fn address(&mut self, address: &mut BlockAddress, mention: Mention) -> Option<()> {
        let encoder = &mut *self.encoder;
        let mode = match encoder.mention(*address, mention) {
            Some(1) => MODE_LAST,
            Some(distance) => {
                encoder.columns[DISTANCES].put(distance);
                MODE_DISTANCE
            }
            None => {
                let from_last = address.0.wrapping_sub(encoder.last_address) as i64 >> 3;
                encoder.columns[ADDRESSES].put_signed(from_last);
                encoder.last_address = address.0;
                MODE_RAW
            }
        };
        self.kind |= mode << MODE_SHIFT;
        Some(())
    }

    fn new_address(&mut self, old: BlockAddress, new: &mut BlockAddress) -> Option<()> {
        let encoder = &mut *self.encoder;
        encoder.columns[EXTRAS].put_signed(new.0.wrapping_sub(old.0) as i64 >> 3);
        if new.0 >> ADDRESS_BITS == 0 {
            encoder.mention(*new, Mention::Allocated);
        } else {
            // No block can be there. It counts, and no later event finds it.
            encoder.counts[Mention::Allocated as usize] += 1;
        }
        Some(())
    }

    #[inline(always)]
    fn site(&mut self, stack: &mut StackId, size: &mut u64) -> Option<()> {
        let encoder = &mut *self.encoder;
        let slot = &mut encoder.stacks[(stack.0.wrapping_mul(0x9e37_79b1) >> 20) as usize % STACK_SLOTS];
        if slot.stack != stack.0 || slot.block != encoder.block {
            let index = encoder.dictionary_sizes.len() as u32;
            *slot = StackSlot { stack: stack.0, block: encoder.block, index };
            encoder.columns[NEW_STACKS].put_signed(i64::from(stack.0) - i64::from(encoder.last_stack));
            encoder.last_stack = stack.0;
            encoder.dictionary_sizes.push(0);
        }
        let index = slot.index;
        encoder.columns[STACKS].put(u64::from(index));
        let last = &mut encoder.dictionary_sizes[index as usize];
        if *last == *size {
            self.kind |= SAME_SIZE;
        } else {
            *last = *size;
            encoder.columns[SIZES].put(*size);
        }
        Some(())
    }

    #[inline(always)]
    fn extra<T: Field>(&mut self, value: &mut T) -> Option<()> {
        self.encoder.columns[EXTRAS].put(value.to_bits());
        Some(())
    }

    #[inline(always)]
    fn optional_extra<T: Field>(&mut self, value: &mut Option<T>) -> Option<()> {
        if let Some(value) = value {
            self.kind |= EXTRA;
            self.extra(value)?;
        }
        Some(())
    }

    fn ticks(&mut self, ticks: &mut u64) -> Option<()> {
        let encoder = &mut *self.encoder;
        encoder.columns[EXTRAS].put_signed(ticks.wrapping_sub(encoder.last_ticks) as i64);
        encoder.last_ticks = *ticks;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AllocatorNumber, Event};
    use crate::file::columns::EventsSection;
    use crate::file::limits::Excess;

    fn round_trip(encoder: &mut EventsEncoder, events: &[Event]) {
        let words: Vec<u64> = events
            .iter()
            .map(|&event| words::encode(event))
            .flat_map(|w| w.words[..w.len].to_vec())
            .collect();
        let (_, n) = encoder.add_block(ThreadIndex(0), Epoch(0), &words);
        assert_eq!((n, encoder.left_over()), (events.len() as u64, 0));
        let payload = encoder.finish(Epoch(1));
        let section = EventsSection::decode(payload, &mut Excess::default()).expect("own payload decodes");
        let block = section.blocks().next().expect("a block");
        assert!(block.events().eq(events.iter().copied()));
    }

    #[test]
    fn there_is_room_for_the_longest_events_however_many() {
        let longest = |i: u64| Event::Realloc {
            old: BlockAddress((i & 1) << 46),
            new: BlockAddress((!0 >> (i & 1)) & !7),
            size: !0 - i,
            stack: StackId((i & 1) as u32 * u32::MAX),
            touched: Some(u32::MAX),
            allocator: AllocatorNumber::OTHERS,
        };
        round_trip(&mut EventsEncoder::default(), &(0..5000).map(longest).collect::<Vec<_>>());
    }

    #[test]
    fn addresses_are_told_apart_however_long_a_recording_is() {
        let mut encoder = EventsEncoder { counts: [MOST_MENTIONS - 1500; 2], ..EventsEncoder::default() };
        for round in 0..4u64 {
            let free = |i: u64| Event::Free {
                address: BlockAddress((i * 0x1234_5670_0008 % (1 << 47)) & !7),
                touched: None,
            };
            // Each address twice, so that the second mention finds the first one.
            round_trip(&mut encoder, &(0..1000).map(|i| free(i / 2 + round)).collect::<Vec<_>>());
        }
        assert!(encoder.counts[Mention::Freed as usize] < 4001, "they were begun anew");
    }
}
