//! The writer's side: from the words of a ring to columns.
//!
//! It runs while the program does, so its tables have a fixed size and are never cleared: a stamp distinguishes this
//! block's entries from older ones.

use super::{
    ADDRESSES, ALLOC, ALLOCATED, DISTANCES, EPOCH, EPOCHS, EXTRA, EXTRAS, FAILED, FREE, FREED, KINDS, MARK,
    MODE_DISTANCE, MODE_LAST, MODE_RAW, MODE_SHIFT, N_COLUMNS, NEW_STACKS, REALLOC, REALLOC_BEGIN,
    REALLOC_END, SAME_SIZE, SIZES, STACKS, THREAD_CREATE, THREAD_JOIN, TIMED,
};
use crate::event::{BlockAddress, Epoch, Event, StackId, TouchedPages};
use crate::file::cursor::Put;
use crate::file::records::ThreadIndex;
use crate::live::words;

/// Slots of the writer's tables. A collision only costs bytes, so they are small enough to stay in the cache.
const ADDRESS_SLOTS: usize = 1 << 15;
const STACK_SLOTS: usize = 1 << 12;

#[derive(Clone, Copy, Debug, Default)]
struct Mention {
    address: u64,
    block: u32,
    /// Ordinal among the block's allocations or frees, with the class in the lowest bit.
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
    mentions: Box<[Mention]>,
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
            mentions: vec![Mention::default(); ADDRESS_SLOTS].into(),
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
        match event {
            Event::Epoch(epoch) => {
                self.columns[KINDS].push(EPOCH);
                self.columns[EPOCHS].put(epoch.0.wrapping_sub(self.epoch));
                self.epoch = epoch.0;
            }
            Event::Alloc { address, size, align_log2, function, stack } => {
                let mut kind = ALLOC | self.address(address, ALLOCATED);
                kind |= self.site(stack, size);
                let extra = u64::from(align_log2) << 4 | function as u64;
                if extra != 0 {
                    kind |= EXTRA;
                    self.columns[EXTRAS].put(extra);
                }
                self.columns[KINDS].push(kind);
            }
            Event::Free { address, touched } => {
                let kind = FREE | self.address(address, FREED) | self.touched(touched);
                self.columns[KINDS].push(kind);
            }
            Event::Realloc { old, new, size, stack, touched } => {
                let kind =
                    REALLOC | self.address(old, FREED) | self.site(stack, size) | self.touched(touched);
                self.new_address(old, new);
                self.columns[KINDS].push(kind);
            }
            Event::ReallocBegin { old, touched } => {
                let kind = REALLOC_BEGIN | self.address(old, FREED) | self.touched(touched);
                self.columns[KINDS].push(kind);
            }
            Event::ReallocEnd { new, size, stack } => {
                let kind = REALLOC_END | self.address(new, ALLOCATED) | self.site(stack, size);
                self.columns[KINDS].push(kind);
            }
            Event::Failed { size, function, stack } => {
                let kind = FAILED | self.site(stack, size);
                self.columns[EXTRAS].put(function as u64);
                self.columns[KINDS].push(kind);
            }
            Event::Timed { ticks } => {
                self.columns[EXTRAS].put(u64::from(ticks));
                self.columns[KINDS].push(TIMED);
            }
            Event::ThreadCreate { handle } => {
                self.columns[EXTRAS].put(handle);
                self.columns[KINDS].push(THREAD_CREATE);
            }
            Event::ThreadJoin { handle } => {
                self.columns[EXTRAS].put(handle);
                self.columns[KINDS].push(THREAD_JOIN);
            }
            Event::Mark { kind, name, ticks } => {
                self.columns[EXTRAS].put(u64::from(name.0) << 2 | kind as u64);
                self.columns[EXTRAS].put_signed(ticks.wrapping_sub(self.last_ticks) as i64);
                self.last_ticks = ticks;
                self.columns[KINDS].push(MARK);
            }
        }
    }

    fn touched(&mut self, touched: TouchedPages) -> u8 {
        match touched {
            None => 0,
            Some(pages) => {
                self.columns[EXTRAS].put(u64::from(pages));
                EXTRA
            }
        }
    }

    fn slot(address: u64) -> usize {
        (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ADDRESS_SLOTS.trailing_zeros())) as usize
    }

    /// Notes the mention of an address and returns the mode bits.
    #[inline(always)]
    fn address(&mut self, address: BlockAddress, class: usize) -> u8 {
        let other = 1 - class;
        let mention = &mut self.mentions[Self::slot(address.0)];
        let known = mention.address == address.0 && mention.block == self.block;
        let before = *mention;
        *mention = Mention {
            address: address.0,
            block: self.block,
            ordinal: self.counts[class] << 1 | class as u32,
        };
        self.counts[class] += 1;
        if known && before.ordinal & 1 == other as u32 {
            let distance = self.counts[other] - (before.ordinal >> 1);
            if distance == 1 {
                return MODE_LAST << MODE_SHIFT;
            }
            self.columns[DISTANCES].put(u64::from(distance));
            return MODE_DISTANCE << MODE_SHIFT;
        }
        self.columns[ADDRESSES].put_signed(address.0.wrapping_sub(self.last_address) as i64 >> 3);
        self.last_address = address.0;
        MODE_RAW << MODE_SHIFT
    }

    /// The new address of a resize: difference to the old one. It is also an allocation mention.
    fn new_address(&mut self, old: BlockAddress, new: BlockAddress) {
        self.columns[EXTRAS].put_signed(new.0.wrapping_sub(old.0) as i64 >> 3);
        let ordinal = self.counts[ALLOCATED] << 1 | ALLOCATED as u32;
        self.mentions[Self::slot(new.0)] = Mention { address: new.0, block: self.block, ordinal };
        self.counts[ALLOCATED] += 1;
    }

    /// Writes stack and size, and returns the flag for a predicted size.
    #[inline(always)]
    fn site(&mut self, stack: StackId, size: u64) -> u8 {
        let slot = &mut self.stacks[(stack.0.wrapping_mul(0x9e37_79b1) >> 20) as usize % STACK_SLOTS];
        if slot.stack != stack.0 || slot.block != self.block {
            let index = self.dictionary_sizes.len() as u32;
            *slot = StackSlot { stack: stack.0, block: self.block, index };
            self.columns[NEW_STACKS].put_signed(i64::from(stack.0) - i64::from(self.last_stack));
            self.last_stack = stack.0;
            self.dictionary_sizes.push(0);
        }
        let index = slot.index;
        self.columns[STACKS].put(u64::from(index));
        let last = &mut self.dictionary_sizes[index as usize];
        if *last == size {
            return SAME_SIZE;
        }
        *last = size;
        self.columns[SIZES].put(size);
        0
    }
}
