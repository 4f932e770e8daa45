//! The events of one thread that are available: those left over from earlier sections, then those of this one.

use super::decoder::{Decoded, Decoder};
use crate::budget::Budget;
use heapwise_trace::event::Event;
use heapwise_trace::file::columns::{Block, BlockEvents};
use std::collections::VecDeque;

/// Events of a thread that wait for the next section.
#[derive(Debug, Default)]
pub(crate) struct LeftOver {
    pub(crate) epoch: u64,
    /// A queue, since it may be long and only a little of it be possible with each section.
    pub(crate) events: VecDeque<Event>,
}

/// How many events are at hand together: 10 KiB, which leaves room in the first cache.
const AHEAD: usize = 256;
/// Events that all threads together have decoded ahead, as far as that leaves each of them a few. Batches of a second thread come on top.
const AHEAD_OF_ALL: usize = 1 << 18;

/// How many events each of so many threads decodes ahead.
pub(crate) fn ahead_of_each(threads: usize) -> usize {
    (AHEAD_OF_ALL / threads.max(1)).clamp(16, AHEAD)
}

impl LeftOver {
    /// The memory of its events is about to be freed.
    pub(crate) fn release(&self, budget: &Budget) {
        budget.release(bytes_of(self.events.len()));
    }
}

fn bytes_of(events: usize) -> u64 {
    (events * size_of::<Event>()) as u64
}

/// Where the events of a section come from.
#[derive(Debug)]
enum Source<'a> {
    /// There are none.
    Nowhere,
    /// They are decoded when they are needed.
    Here(BlockEvents<'a>),
    /// They are decoded by then.
    Ahead(Decoded<'a>),
}

/// A thread's events with the next ones at hand.
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    pub(crate) thread: u32,
    left: VecDeque<Event>,
    block: Source<'a>,
    /// How many events the block still has at most.
    undecoded: u64,
    ahead: Vec<Event>,
    most_ahead: usize,
    at: usize,
    /// How many of those at hand were looked at, and need not be again.
    looked_at: usize,
    /// Epoch of the next event, or of the last one.
    pub(crate) epoch: u64,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(
        thread: u32,
        left: LeftOver,
        block: Option<Block<'a>>,
        decoder: Option<&mut Decoder<'a>>,
        most_ahead: usize,
    ) -> Self {
        let epoch = if left.events.is_empty() { block.map_or(0, |b| b.first_epoch().0) } else { left.epoch };
        let undecoded = block.map_or(0, |b| b.n_events());
        let block = match block {
            None => Source::Nowhere,
            Some(block) => decoder
                .and_then(|decoder| decoder.take(&block))
                .map_or_else(|| Source::Here(block.events()), Source::Ahead),
        };
        // A block with few events needs little room; there may be very many of them.
        let ahead = Vec::with_capacity(most_ahead.min(usize::try_from(undecoded).unwrap_or(most_ahead)));
        let mut stream = Self {
            thread,
            left: left.events,
            block,
            undecoded,
            ahead,
            most_ahead,
            at: 0,
            looked_at: 0,
            epoch,
        };
        stream.find_front();
        stream
    }

    /// The next event. It is not an epoch: that is in [`Stream::epoch`].
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Event> {
        self.ahead.get(self.at)
    }

    /// Moves on to the next event.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.at += 1;
        match self.ahead.get(self.at) {
            None | Some(Event::Epoch(_)) => self.find_front(),
            _ => {}
        }
    }

    /// The next event and some of those that were decoded with it, among which there may be epochs.
    pub(crate) fn ahead(&self) -> &[Event] {
        let rest = &self.ahead[self.at..];
        &rest[..rest.len().min(AHEAD)]
    }

    /// How many events of [`Stream::ahead`] were looked at.
    pub(crate) fn looked_at(&self) -> usize {
        self.looked_at.saturating_sub(self.at)
    }

    /// So many were looked at by now.
    pub(crate) fn note_looked_at(&mut self, n: usize) {
        self.looked_at = self.at + n;
    }

    /// Moves on by several events of [`Stream::ahead`].
    pub(crate) fn advance_by(&mut self, n: usize) {
        self.at += n;
        self.find_front();
    }

    fn find_front(&mut self) {
        loop {
            match self.ahead.get(self.at) {
                // The clock does not go back; a reading that does so comes from a damaged recording.
                Some(Event::Epoch(epoch)) => {
                    self.epoch = self.epoch.max(epoch.0);
                    self.at += 1;
                }
                Some(_) => return,
                None => {
                    self.refill();
                    if self.ahead.is_empty() {
                        return;
                    }
                }
            }
        }
    }

    /// PERF: decoding and accounting in turns of a few hundred events is a tenth faster than event by event, since the
    /// processor's branch predictor and caches have one thing at a time to do. Looking up a batch's blocks beforehand
    /// (to have them in the cache) was tried and gained nothing.
    #[inline(never)]
    fn refill(&mut self) {
        (self.at, self.looked_at) = (0, 0);
        self.ahead.clear();
        if !self.left.is_empty() {
            self.ahead.extend(self.left.drain(..self.most_ahead.min(self.left.len())));
        }
        let before = self.ahead.len();
        match &mut self.block {
            Source::Here(block) => {
                while self.ahead.len() < self.most_ahead
                    && let Some(event) = block.next()
                {
                    self.ahead.push(event);
                }
            }
            Source::Ahead(block) if before == 0 => block.next_into(&mut self.ahead),
            Source::Ahead(_) | Source::Nowhere => {}
        }
        self.undecoded = self.undecoded.saturating_sub((self.ahead.len() - before) as u64);
    }

    /// Everything that is left, to be kept for the next section; and whether the columns were damaged. What the budget has no
    /// room for is not kept.
    pub(crate) fn into_left_over(mut self, budget: &Budget) -> (LeftOver, bool) {
        let most = self.ahead.len() - self.at + self.left.len() + self.undecoded as usize;
        if !budget.hold(bytes_of(most)) {
            return (LeftOver::default(), false);
        }
        let mut damaged = false;
        let mut rest = Vec::new();
        if self.left.is_empty() {
            rest.extend_from_slice(&self.ahead[self.at..]);
        } else {
            self.ahead.drain(self.at..).rev().for_each(|event| self.left.push_front(event));
        }
        // The section holds a byte per event at least, so the count is no larger than what was read.
        rest.reserve(self.undecoded as usize);
        let block = match self.block {
            Source::Nowhere => None,
            Source::Here(block) => Some(block),
            Source::Ahead(block) => block.into_rest().map(|(events, block)| {
                rest.extend(events);
                block
            }),
        };
        if let Some(mut block) = block {
            rest.extend(block.by_ref());
            damaged = block.damaged();
        }
        let mut left = LeftOver { epoch: self.epoch, events: self.left };
        if left.events.is_empty() {
            left.events = rest.into();
        } else {
            left.events.extend(rest);
        }
        budget.release(bytes_of(most));
        budget.hold(bytes_of(left.events.len()));
        (left, damaged)
    }
}
