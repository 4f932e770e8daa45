//! The writer's side: from the words of a ring to columns.
//!
//! It runs while the program does, so its tables have a fixed size and are never cleared: a stamp distinguishes this
//! block's entries from older ones.

use super::{
    ADDRESSES, DISTANCES, EPOCHS, EXTRA, EXTRAS, KINDS, MODE_DISTANCE, MODE_LAST, MODE_RAW, MODE_SHIFT,
    N_COLUMNS, NEW_STACKS, SAME_SIZE, SIZES, STACKS,
};
use crate::event::codec::{ColumnCodec, ColumnWriter, Field, Mention};
use crate::event::{BlockAddress, Epoch, Event, StackId};
use crate::file::cursor::Put;
use crate::file::records::ThreadIndex;
use crate::live::words;

/// Slots of the writer's tables. A collision only costs bytes, so they are small enough to stay in the cache.
const ADDRESS_SLOTS: usize = 1 << 15;
const STACK_SLOTS: usize = 1 << 12;

#[derive(Clone, Copy, Debug, Default)]
struct AddressSlot {
    address: u64,
    block: u32,
    /// Ordinal among the block's mentions of its kind, with that kind in the lowest bit.
    ordinal: u32,
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
    columns: [Vec<u8>; N_COLUMNS],
    mentions: Box<[AddressSlot]>,
    stacks: Box<[StackSlot]>,
    dictionary_sizes: Vec<u64>,
    /// Stamp that distinguishes this block's table entries from older ones.
    block: u32,
    n_events: u64,
    counts: [u32; 2],
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
            counts: [0; 2],
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
        self.counts = [0; 2];
        self.last_address = 0;
        self.last_stack = 0;
        self.last_ticks = 0;
        self.epoch = first.0;
        self.dictionary_sizes.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        let mut rest = words;
        while let Some((event, used)) = words::decode(rest) {
            self.event(event);
            rest = &rest[used..];
        }
        self.left_over = rest.len();
        if self.n_events == 0 {
            return (first, 0);
        }
        self.blocks.put(u64::from(thread.0));
        self.blocks.put(first.0);
        self.blocks.put(self.n_events);
        for column in &self.columns {
            self.blocks.put_bytes(column);
        }
        self.n_blocks += 1;
        (Epoch(self.epoch), self.n_events)
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

    #[inline]
    fn event(&mut self, event: Event) {
        self.n_events += 1;
        let mut line = Line { encoder: self, kind: 0 };
        // A writer never returns `None`.
        event.write_columns(&mut line);
        let kind = line.kind;
        self.columns[KINDS].push(kind);
    }

    fn slot(address: u64) -> usize {
        (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ADDRESS_SLOTS.trailing_zeros())) as usize
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
        let (class, other) = (mention as usize, 1 - mention as usize);
        let slot = &mut encoder.mentions[EventsEncoder::slot(address.0)];
        let known = slot.address == address.0 && slot.block == encoder.block;
        let before = *slot;
        *slot = AddressSlot {
            address: address.0,
            block: encoder.block,
            ordinal: encoder.counts[class] << 1 | class as u32,
        };
        encoder.counts[class] += 1;
        let mode = if known && before.ordinal & 1 == other as u32 {
            let distance = encoder.counts[other] - (before.ordinal >> 1);
            if distance == 1 {
                MODE_LAST
            } else {
                encoder.columns[DISTANCES].put(u64::from(distance));
                MODE_DISTANCE
            }
        } else {
            encoder.columns[ADDRESSES].put_signed(address.0.wrapping_sub(encoder.last_address) as i64 >> 3);
            encoder.last_address = address.0;
            MODE_RAW
        };
        self.kind |= mode << MODE_SHIFT;
        Some(())
    }

    fn new_address(&mut self, old: BlockAddress, new: &mut BlockAddress) -> Option<()> {
        let encoder = &mut *self.encoder;
        encoder.columns[EXTRAS].put_signed(new.0.wrapping_sub(old.0) as i64 >> 3);
        let class = Mention::Allocated as usize;
        let ordinal = encoder.counts[class] << 1 | class as u32;
        encoder.mentions[EventsEncoder::slot(new.0)] =
            AddressSlot { address: new.0, block: encoder.block, ordinal };
        encoder.counts[class] += 1;
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
