//! The reader's side: from columns to events, whatever the bytes are.

use super::{
    ADDRESSES, ALLOC, ALLOCATED, DISTANCES, EPOCH, EPOCHS, EXTRA, EXTRAS, FAILED, FREE, FREED, KIND_MASK,
    KINDS, MARK, MODE_DISTANCE, MODE_LAST, MODE_RAW, MODE_SHIFT, N_COLUMNS, NEW_STACKS, REALLOC,
    REALLOC_BEGIN, REALLOC_END, SAME_SIZE, SIZES, STACKS, THREAD_CREATE, THREAD_JOIN, TIMED,
};
use crate::event::{AllocFunction, BlockAddress, Epoch, Event, MarkId, MarkKind, StackId, TouchedPages};
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
            MARK => {
                let mark = self.extras.get()?;
                let (kind, name) = (MarkKind::from_code(mark & 0x3)?, MarkId(u32::try_from(mark >> 2).ok()?));
                self.last_ticks = self.last_ticks.wrapping_add(self.extras.get_signed()? as u64);
                Event::Mark { kind, name, ticks: self.last_ticks }
            }
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
