//! The reader's side: from columns to events, whatever the bytes are.

use super::{
    ADDRESSES, DISTANCES, EPOCHS, EXTRA, EXTRAS, KIND_MASK, KINDS, MODE_DISTANCE, MODE_LAST, MODE_RAW,
    MODE_SHIFT, N_COLUMNS, NEW_STACKS, SAME_SIZE, SIZES, STACKS,
};
use crate::event::codec::{ColumnCodec, Field, Mention};
use crate::event::{BlockAddress, Epoch, Event, StackId};
use crate::file::cursor::Cursor;
use crate::file::limits::{Claim, Excess, MOST_BLOCKS, MOST_EVENTS};
use crate::file::records::ThreadIndex;

/// A decoded section of events: blocks of threads, whose events are decoded when they are iterated over.
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
    pub(crate) fn decode(payload: Vec<u8>, excess: &mut Excess) -> Option<Self> {
        let total = payload.len();
        let mut c = Cursor(&payload);
        let watermark = Epoch(c.get()?);
        let n_blocks = excess.count(&mut c, MOST_BLOCKS, "blocks of events")?;
        // Thread, epoch, number of events and the lengths of the columns take a byte each at least.
        const LEAST_BLOCK_BYTES: usize = 3 + N_COLUMNS;
        if n_blocks > c.0.len() / LEAST_BLOCK_BYTES {
            return None;
        }
        let mut blocks = Vec::with_capacity(n_blocks);
        let mut all_events = 0u64;
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
            if n_events == 0 {
                // An empty block takes memory for a thread, compresses to nothing, and has no use.
                excess.0 = Some(Claim::EmptyBlocks);
                return None;
            }
            all_events += n_events;
            excess.more(usize::try_from(all_events).ok()?, MOST_EVENTS, "events")?;
            blocks.push(BlockLayout { thread, first, n_events, columns });
        }
        let whole = c.is_empty();
        whole.then_some(Self { watermark, payload, blocks })
    }

    /// The blocks, at most one per thread and in no particular order of threads.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        self.blocks.iter().map(|layout| Block { payload: &self.payload, layout })
    }

    /// How many blocks there are.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
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
            last_ticks: 0,
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
    last_ticks: u64,
    epoch: u64,
    damaged: bool,
}

impl BlockEvents<'_> {
    /// Whether the iterator ended since the columns made no sense.
    pub fn damaged(&self) -> bool {
        self.damaged
    }
}

/// An event that is being read, with the byte of its kind.
struct Line<'a, 'b> {
    block: &'a mut BlockEvents<'b>,
    kind: u8,
}

impl ColumnCodec for Line<'_, '_> {
    #[inline(always)]
    fn epoch(&mut self, epoch: &mut Epoch) -> Option<()> {
        self.block.epoch = self.block.epoch.wrapping_add(self.block.epochs.get()?);
        epoch.0 = self.block.epoch;
        Some(())
    }

    #[inline(always)]
    fn address(&mut self, address: &mut BlockAddress, mention: Mention) -> Option<()> {
        let (block, class) = (&mut *self.block, mention as usize);
        let other = &block.mentions[1 - class];
        address.0 = match self.kind >> MODE_SHIFT {
            MODE_RAW => {
                let delta = block.addresses.get_signed()?;
                block.last_address = block.last_address.wrapping_add((delta as u64) << 3);
                block.last_address
            }
            MODE_LAST => *other.last()?,
            MODE_DISTANCE => {
                let distance = usize::try_from(block.distances.get()?).ok()?;
                *other.get(other.len().checked_sub(distance)?)?
            }
            _ => return None,
        };
        block.mentions[class].push(address.0);
        Some(())
    }

    #[inline(always)]
    fn new_address(&mut self, old: BlockAddress, new: &mut BlockAddress) -> Option<()> {
        let delta = self.block.extras.get_signed()?;
        new.0 = old.0.wrapping_add((delta as u64) << 3);
        self.block.mentions[Mention::Allocated as usize].push(new.0);
        Some(())
    }

    #[inline(always)]
    fn site(&mut self, stack: &mut StackId, size: &mut u64) -> Option<()> {
        let block = &mut *self.block;
        let index = usize::try_from(block.stacks.get()?).ok()?;
        if index == block.dictionary.len() {
            let delta = block.new_stacks.get_signed()?;
            block.last_stack = u32::try_from(i64::from(block.last_stack).checked_add(delta)?).ok()?;
            block.dictionary.push((block.last_stack, 0));
        }
        let entry = block.dictionary.get_mut(index)?;
        if self.kind & SAME_SIZE == 0 {
            entry.1 = block.sizes.get()?;
        }
        (*stack, *size) = (StackId(entry.0), entry.1);
        Some(())
    }

    #[inline(always)]
    fn extra<T: Field>(&mut self, value: &mut T) -> Option<()> {
        *value = T::from_bits(self.block.extras.get()?)?;
        Some(())
    }

    #[inline(always)]
    fn optional_extra<T: Field>(&mut self, value: &mut Option<T>) -> Option<()> {
        if self.kind & EXTRA != 0 {
            *value = Some(T::from_bits(self.block.extras.get()?)?);
        }
        Some(())
    }

    #[inline(always)]
    fn ticks(&mut self, ticks: &mut u64) -> Option<()> {
        let delta = self.block.extras.get_signed()?;
        self.block.last_ticks = self.block.last_ticks.wrapping_add(delta as u64);
        *ticks = self.block.last_ticks;
        Some(())
    }
}

impl Iterator for BlockEvents<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let kind = self.kinds.byte()?;
        let event = Event::read_columns(kind & KIND_MASK, &mut Line { block: self, kind });
        if event.is_none() {
            self.damaged = true;
            self.kinds = Cursor(&[]);
        }
        event
    }
}
