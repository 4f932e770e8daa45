//! A second thread decodes what has many events, a batch ahead of where they are put in order.
//!
//! It lives as long as one section is gone through, and is not begun for one whose events are few. Which events are at hand together
//! does not depend on it: without it the same batches are decoded where they are needed.

use heapwise_trace::event::Event;
use heapwise_trace::file::columns::{Block, BlockEvents, EventsSection};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::thread::{Builder, Scope};

/// For a section of this many events there is a second thread: to decode them takes a millisecond, and to begin a thread a twentieth.
const MANY: u64 = 1 << 16;
/// A block of this many events is decoded there.
const LARGE: u64 = 1 << 13;
/// Events of a batch, 640 KiB: to hand one over takes about as long as to decode four thousand events.
const BATCH: usize = 1 << 14;
/// Blocks of a section that are decoded so. Each has two batches.
const MOST_BLOCKS: usize = 32;

/// Some events of a block, and what follows them.
#[derive(Debug)]
struct Batch<'a> {
    events: Vec<Event>,
    rest: BlockEvents<'a>,
    /// Where it goes when it is decoded. Nothing else holds this, so whoever waits for the batch learns if it is lost.
    to: Sender<Batch<'a>>,
}

impl Batch<'_> {
    fn decode(mut self) {
        self.events.clear();
        while self.events.len() < BATCH
            && let Some(event) = self.rest.next()
        {
            self.events.push(event);
        }
        // If it is not waited for, the section was given up.
        let _ = self.to.clone().send(self);
    }
}

/// For the blocks of one section.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    /// None if there is no thread.
    jobs: Option<Sender<Batch<'a>>>,
    is_worth_it: bool,
    /// Blocks that may still be given to it.
    room: usize,
}

impl<'a> Decoder<'a> {
    /// Begins a thread if the section is worth it.
    pub(super) fn new<'scope>(scope: &'scope Scope<'scope, 'a>, section: &EventsSection) -> Self {
        let is_worth_it =
            section.n_events() >= MANY && section.blocks().any(|block| block.n_events() >= LARGE);
        let begin = || {
            let (sender, jobs) = channel::<Batch<'a>>();
            let decode = move || jobs.into_iter().for_each(Batch::decode);
            Builder::new().spawn_scoped(scope, decode).ok().map(|_| sender)
        };
        Self { jobs: is_worth_it.then(begin).flatten(), is_worth_it, room: MOST_BLOCKS }
    }

    /// Takes a block over, if it is worth it and there is room.
    pub(super) fn take(&mut self, block: &Block<'a>) -> Option<Decoded<'a>> {
        if !self.is_worth_it || block.n_events() < LARGE || self.room == 0 {
            return None;
        }
        self.room -= 1;
        let (to, batches) = channel();
        let decoded = Decoded { jobs: self.jobs.clone(), batches };
        let capacity = usize::try_from(block.n_events()).map_or(BATCH, |n| n.min(BATCH));
        decoded.order(Batch { events: Vec::with_capacity(capacity), rest: block.events(), to });
        Some(decoded)
    }
}

/// A block whose next batch is decoded while the last one is gone through.
#[derive(Debug)]
pub(super) struct Decoded<'a> {
    jobs: Option<Sender<Batch<'a>>>,
    /// One is always under way.
    batches: Receiver<Batch<'a>>,
}

impl<'a> Decoded<'a> {
    /// The next batch in place of the last one; empty if nothing is left.
    pub(super) fn next_into(&self, events: &mut Vec<Event>) {
        let Ok(mut batch) = self.batches.recv() else { return };
        std::mem::swap(events, &mut batch.events);
        self.order(batch);
    }

    /// What is left: events that are decoded, and the others.
    pub(super) fn into_rest(self) -> Option<(Vec<Event>, BlockEvents<'a>)> {
        self.batches.recv().ok().map(|batch| (batch.events, batch.rest))
    }

    fn order(&self, batch: Batch<'a>) {
        let refused = match &self.jobs {
            Some(jobs) => jobs.send(batch).err(),
            None => Some(SendError(batch)),
        };
        if let Some(SendError(batch)) = refused {
            batch.decode();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::{LeftOver, Stream};
    use super::*;
    use crate::budget::Budget;
    use heapwise_trace::event::{BlockAddress, Epoch};
    use heapwise_trace::file::columns::EventsEncoder;
    use heapwise_trace::file::records::{Meta, ThreadIndex};
    use heapwise_trace::file::{Reader, Section, Writer};
    use heapwise_trace::live::words;

    fn events(n: u64) -> Vec<Event> {
        let free = |n: u64| Event::Free { address: BlockAddress(n * 16), touched: None };
        (1..=n).map(|n| if n % 1000 == 0 { Event::Epoch(Epoch(n)) } else { free(n) }).collect()
    }

    /// A section with a block for each thread.
    fn section(blocks: &[Vec<Event>]) -> EventsSection {
        section_with(blocks, |_| {})
    }

    /// The same, with something changed in what is written.
    fn section_with(blocks: &[Vec<Event>], change: impl FnOnce(&mut Vec<u8>)) -> EventsSection {
        let mut encoder = EventsEncoder::default();
        for (thread, events) in blocks.iter().enumerate() {
            let encoded = events.iter().map(|event| words::encode(*event));
            let words: Vec<u64> = encoded.flat_map(|w| w.words[..w.len].to_vec()).collect();
            encoder.add_block(ThreadIndex(thread as u32), Epoch(0), &words);
        }
        let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
        let mut payload = encoder.finish(Epoch(u64::MAX));
        change(&mut payload);
        writer.events(&payload).expect("memory");
        let file = writer.into_inner();
        let mut reader = Reader::new(file.as_slice()).expect("own file");
        loop {
            match reader.next_section().expect("own file").expect("there are events") {
                Section::Events(section) => return section,
                _ => continue,
            }
        }
    }

    /// What is read of each of the streams, some steps of each in turns.
    fn read(streams: &mut [Stream<'_>], steps: usize) -> Vec<Vec<(u64, Event)>> {
        let mut all = vec![Vec::new(); streams.len()];
        loop {
            let mut is_over = true;
            for (stream, all) in streams.iter_mut().zip(&mut all) {
                for _ in 0..steps {
                    let Some(event) = stream.front() else { break };
                    assert_eq!(stream.ahead().first(), Some(event));
                    all.push((stream.epoch, *event));
                    stream.advance();
                    is_over = false;
                }
            }
            if is_over {
                return all;
            }
        }
    }

    #[test]
    fn it_is_the_same_as_without_a_second_thread() {
        let n = MANY + 3 * BATCH as u64;
        let section =
            section(&[events(n), events(100), events(LARGE), events(LARGE - 1), events(2 * MANY + 1)]);
        let plain = |block| Stream::new(0, LeftOver::default(), Some(block), None, 256);
        let expected = read(&mut section.blocks().map(plain).collect::<Vec<_>>(), 7);
        assert_eq!(expected[0].len() as u64, n - n / 1000);
        for is_there in [true, false] {
            std::thread::scope(|scope| {
                let mut decoder = Decoder::new(scope, &section);
                assert!(decoder.jobs.is_some());
                if !is_there {
                    decoder.jobs = None;
                }
                let ahead = |block| Stream::new(0, LeftOver::default(), Some(block), Some(&mut decoder), 256);
                let mut streams: Vec<_> = section.blocks().map(ahead).collect();
                assert_eq!(decoder.room, MOST_BLOCKS - 3);
                assert_eq!(read(&mut streams, 7), expected);
            });
        }
    }

    #[test]
    fn what_was_not_read_is_left_over() {
        let section = section(&[events(2 * MANY)]);
        let plain = Stream::new(0, LeftOver::default(), section.blocks().next(), None, 256);
        let all = read(&mut [plain], 1).remove(0);
        for done in [0, 1, 255, 256, BATCH - 5, BATCH, 5 * BATCH + 1, all.len()] {
            let left = std::thread::scope(|scope| {
                let mut decoder = Decoder::new(scope, &section);
                let block = section.blocks().next();
                let mut stream = Stream::new(0, LeftOver::default(), block, Some(&mut decoder), 256);
                (0..done).for_each(|_| stream.advance());
                let (left, is_damaged) = stream.into_left_over(&Budget::default());
                assert!(!is_damaged);
                left
            });
            let mut rest = Stream::new(0, left, None, None, 256);
            assert_eq!(read(std::slice::from_mut(&mut rest), 1)[0], all[done..], "{done}");
        }
    }

    #[test]
    fn a_block_ends_where_it_makes_no_sense() {
        // A kind of address that there is not, among the kinds, which come first.
        let damaged = section_with(&[events(MANY)], |payload| payload[40_000] |= 0xc0);
        std::thread::scope(|scope| {
            let mut decoder = Decoder::new(scope, &damaged);
            let block = damaged.blocks().next();
            let mut stream = Stream::new(0, LeftOver::default(), block, Some(&mut decoder), 256);
            let n = read(std::slice::from_mut(&mut stream), 1)[0].len();
            assert!((39_000..40_000).contains(&n), "{n}");
            let (left, is_damaged) = stream.into_left_over(&Budget::default());
            assert!(is_damaged && left.events.is_empty());
        });
    }

    #[test]
    fn for_few_events_there_is_no_thread() {
        for few in [vec![events(MANY - 1)], (0..9).map(|_| events(LARGE - 1)).collect()] {
            let section = section(&few);
            std::thread::scope(|scope| {
                let mut decoder = Decoder::new(scope, &section);
                assert!(decoder.jobs.is_none());
                assert!(section.blocks().all(|block| decoder.take(&block).is_none()));
            });
        }
    }
}
