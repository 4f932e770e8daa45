//! Events in columns.
//!
//! A section of events holds one *block* per thread that had something to say since the section before. Within a
//! block each field has a column of its own, because zstd then finds the repetition in it:
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
//! | extras | alignment and function, touched pages, the new address of a resize, ticks, thread handles |
//!
//! What makes it small: a free names its block by how many allocations ago it was handed out, and an allocation that
//! reuses an address names it by how many frees ago it came back (mode 1 is "the last one"). Both are short for
//! the usual last-in first-out life of blocks, and cost the writer one table lookup and the reader none.

use super::cursor::{Cursor, Put};
use super::records::ThreadIndex;
use crate::event::{AllocFunction, BlockAddress, Epoch, Event, StackId, TouchedPages};
use crate::live::words;

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

const N_COLUMNS: usize = 8;
const KINDS: usize = 0;
const DISTANCES: usize = 1;
const ADDRESSES: usize = 2;
const STACKS: usize = 3;
const NEW_STACKS: usize = 4;
const SIZES: usize = 5;
const EPOCHS: usize = 6;
const EXTRAS: usize = 7;

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
    /// Stamp that tells this block's table entries from older ones.
    block: u32,
    n_events: u64,
    counts: [u32; 2],
    last_address: u64,
    last_stack: u32,
    epoch: u64,
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
            epoch: 0,
        }
    }
}

/// The two classes of mentions of an address.
const ALLOCATED: usize = 0;
const FREED: usize = 1;

impl EventsEncoder {
    /// Adds a block: the words of one thread, as drained from its ring. Returns the epoch after the last event and
    /// how many events there were; words that are no event end the block.
    pub fn add_block(&mut self, thread: ThreadIndex, first: Epoch, words: &[u64]) -> (Epoch, u64) {
        self.block += 1;
        self.n_events = 0;
        self.counts = [0; 2];
        self.last_address = 0;
        self.last_stack = 0;
        self.epoch = first.0;
        self.dictionary_sizes.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        let mut rest = words;
        while let Some((event, used)) = words::decode(rest) {
            self.event(event);
            rest = &rest[used..];
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

/// A decoded section of events: blocks of threads, whose events are decoded when they are asked for.
#[derive(Debug)]
pub struct EventsSection {
    /// Every event published before the clock said this is in this section or an earlier one.
    pub watermark: Epoch,
    payload: Vec<u8>,
    blocks: Vec<BlockLayout>,
}

#[derive(Debug)]
struct BlockLayout {
    thread: ThreadIndex,
    first: Epoch,
    n_events: u64,
    columns: [(usize, usize); N_COLUMNS],
}

impl EventsSection {
    pub(crate) fn decode(payload: Vec<u8>) -> Option<Self> {
        let total = payload.len();
        let mut c = Cursor(&payload);
        let watermark = Epoch(c.get()?);
        let n_blocks = c.count()?;
        // Thread, epoch, number of events and the lengths of the columns take a byte each at least.
        const LEAST_BLOCK_BYTES: usize = 3 + N_COLUMNS;
        if n_blocks > c.0.len() / LEAST_BLOCK_BYTES {
            return None;
        }
        let mut blocks = Vec::with_capacity(n_blocks);
        for _ in 0..n_blocks {
            let thread = ThreadIndex(u32::try_from(c.get()?).ok()?);
            let first = Epoch(c.get()?);
            let n_events = c.get()?;
            let mut columns = [(0, 0); N_COLUMNS];
            for column in &mut columns {
                let bytes = c.bytes()?;
                let end = total - c.0.len();
                *column = (end - bytes.len(), end);
            }
            if n_events != (columns[KINDS].1 - columns[KINDS].0) as u64 {
                return None;
            }
            blocks.push(BlockLayout { thread, first, n_events, columns });
        }
        let whole = c.is_empty();
        whole.then_some(Self { watermark, payload, blocks })
    }

    /// The blocks, at most one per thread and in no particular order of threads.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        self.blocks.iter().map(|layout| Block { payload: &self.payload, layout })
    }

    /// Events in all blocks.
    pub fn n_events(&self) -> u64 {
        self.blocks.iter().map(|b| b.n_events).sum()
    }
}

/// The events of one thread in one section.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    payload: &'a [u8],
    layout: &'a BlockLayout,
}

impl<'a> Block<'a> {
    /// Whose events.
    pub fn thread(&self) -> ThreadIndex {
        self.layout.thread
    }

    /// The epoch of events before the first `Event::Epoch`.
    pub fn first_epoch(&self) -> Epoch {
        self.layout.first
    }

    /// How many events there are.
    pub fn n_events(&self) -> u64 {
        self.layout.n_events
    }

    /// The events in the thread's order. Ends early, with [`BlockEvents::damaged`] set, if the columns do not fit.
    pub fn events(&self) -> BlockEvents<'a> {
        let column = |i: usize| {
            let (start, end) = self.layout.columns[i];
            Cursor(&self.payload[start..end])
        };
        BlockEvents {
            kinds: column(KINDS),
            distances: column(DISTANCES),
            addresses: column(ADDRESSES),
            stacks: column(STACKS),
            new_stacks: column(NEW_STACKS),
            sizes: column(SIZES),
            epochs: column(EPOCHS),
            extras: column(EXTRAS),
            mentions: Default::default(),
            dictionary: Vec::new(),
            last_address: 0,
            last_stack: 0,
            epoch: self.layout.first.0,
            damaged: false,
        }
    }
}

/// Iterator over the events of a [`Block`].
#[derive(Debug)]
pub struct BlockEvents<'a> {
    kinds: Cursor<'a>,
    distances: Cursor<'a>,
    addresses: Cursor<'a>,
    stacks: Cursor<'a>,
    new_stacks: Cursor<'a>,
    sizes: Cursor<'a>,
    epochs: Cursor<'a>,
    extras: Cursor<'a>,
    mentions: [Vec<u64>; 2],
    /// Stack id and size of its previous block.
    dictionary: Vec<(u32, u64)>,
    last_address: u64,
    last_stack: u32,
    epoch: u64,
    damaged: bool,
}

impl BlockEvents<'_> {
    /// Whether the iterator ended since the columns made no sense.
    pub fn damaged(&self) -> bool {
        self.damaged
    }

    #[inline(always)]
    fn address(&mut self, kind: u8, class: usize) -> Option<BlockAddress> {
        let other = &self.mentions[1 - class];
        let address = match kind >> MODE_SHIFT {
            MODE_RAW => {
                let delta = self.addresses.get_signed()?;
                self.last_address = self.last_address.wrapping_add((delta as u64) << 3);
                self.last_address
            }
            MODE_LAST => *other.last()?,
            MODE_DISTANCE => {
                let distance = usize::try_from(self.distances.get()?).ok()?;
                *other.get(other.len().checked_sub(distance)?)?
            }
            _ => return None,
        };
        self.mentions[class].push(address);
        Some(BlockAddress(address))
    }

    #[inline(always)]
    fn site(&mut self, kind: u8) -> Option<(StackId, u64)> {
        let index = usize::try_from(self.stacks.get()?).ok()?;
        if index == self.dictionary.len() {
            let delta = self.new_stacks.get_signed()?;
            self.last_stack = u32::try_from(i64::from(self.last_stack).checked_add(delta)?).ok()?;
            self.dictionary.push((self.last_stack, 0));
        }
        let entry = self.dictionary.get_mut(index)?;
        if kind & SAME_SIZE == 0 {
            entry.1 = self.sizes.get()?;
        }
        Some((StackId(entry.0), entry.1))
    }

    fn touched(&mut self, kind: u8) -> Option<TouchedPages> {
        if kind & EXTRA == 0 {
            return Some(None);
        }
        Some(Some(u32::try_from(self.extras.get()?).ok()?))
    }

    #[inline(always)]
    fn event(&mut self, kind: u8) -> Option<Event> {
        Some(match kind & KIND_MASK {
            ALLOC => {
                let address = self.address(kind, ALLOCATED)?;
                let (stack, size) = self.site(kind)?;
                let extra = if kind & EXTRA != 0 { self.extras.get()? } else { 0 };
                let function = AllocFunction::from_code((extra & 0xf) as u8);
                Event::Alloc { address, size, align_log2: (extra >> 4 & 0x3f) as u8, function, stack }
            }
            FREE => {
                let address = self.address(kind, FREED)?;
                Event::Free { address, touched: self.touched(kind)? }
            }
            REALLOC => {
                let old = self.address(kind, FREED)?;
                let (stack, size) = self.site(kind)?;
                let touched = self.touched(kind)?;
                let delta = self.extras.get_signed()?;
                let new = old.0.wrapping_add((delta as u64) << 3);
                self.mentions[ALLOCATED].push(new);
                Event::Realloc { old, new: BlockAddress(new), size, stack, touched }
            }
            REALLOC_BEGIN => {
                let old = self.address(kind, FREED)?;
                Event::ReallocBegin { old, touched: self.touched(kind)? }
            }
            REALLOC_END => {
                let new = self.address(kind, ALLOCATED)?;
                let (stack, size) = self.site(kind)?;
                Event::ReallocEnd { new, size, stack }
            }
            EPOCH => {
                self.epoch = self.epoch.wrapping_add(self.epochs.get()?);
                Event::Epoch(Epoch(self.epoch))
            }
            FAILED => {
                let (stack, size) = self.site(kind)?;
                let function = AllocFunction::from_code((self.extras.get()? & 0xf) as u8);
                Event::Failed { size, function, stack }
            }
            TIMED => Event::Timed { ticks: u32::try_from(self.extras.get()?).ok()? },
            THREAD_CREATE => Event::ThreadCreate { handle: self.extras.get()? },
            THREAD_JOIN => Event::ThreadJoin { handle: self.extras.get()? },
            _ => return None,
        })
    }
}

impl Iterator for BlockEvents<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let kind = self.kinds.byte()?;
        let event = self.event(kind);
        if event.is_none() {
            self.damaged = true;
            self.kinds = Cursor(&[]);
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        ]
    }

    fn words_of(events: &[Event]) -> Vec<u64> {
        let encoded = events.iter().map(|&e| words::encode(e));
        encoded.flat_map(|w| w.words[..w.len].to_vec()).collect()
    }

    proptest! {
        #[test]
        fn events_survive_the_columns(blocks in proptest::collection::vec(proptest::collection::vec(event(), 0..400), 1..4)) {
            let mut encoder = EventsEncoder::default();
            for (i, events) in blocks.iter().enumerate() {
                let (_, n) = encoder.add_block(ThreadIndex(i as u32), Epoch(5), &words_of(events));
                prop_assert_eq!(n, events.len() as u64);
            }
            let section = EventsSection::decode(encoder.finish(Epoch(9))).expect("own payload decodes");
            prop_assert_eq!(section.watermark, Epoch(9));
            for (i, block) in section.blocks().enumerate() {
                prop_assert_eq!(block.thread(), ThreadIndex(i as u32));
                prop_assert_eq!(&block.events().collect::<Vec<_>>(), &blocks[i]);
            }
        }

        #[test]
        fn garbage_is_refused_without_a_panic(bytes: Vec<u8>, at: prop::sample::Index, events in proptest::collection::vec(event(), 1..50)) {
            if let Some(section) = EventsSection::decode(bytes) {
                section.blocks().for_each(|b| b.events().for_each(drop));
            }
            let mut encoder = EventsEncoder::default();
            encoder.add_block(ThreadIndex(0), Epoch(0), &words_of(&events));
            let mut payload = encoder.finish(Epoch(1));
            let at = at.index(payload.len());
            payload[at] ^= 0x55;
            if let Some(section) = EventsSection::decode(payload) {
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
