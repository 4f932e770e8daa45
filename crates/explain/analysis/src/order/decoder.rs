//! A second thread decodes what has many events, some batches ahead of where they are put in order.
//!
//! It lives as long as one section is gone through, and is not begun for one whose events are few. Whoever needs a batch with which it has
//! not begun decodes that itself, so it is waited for only in the middle of one. Which events are at hand together does not depend on it.

use heapwise_trace::event::Event;
use heapwise_trace::file::columns::{Block, BlockEvents, EventsSection};
use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

/// For a section of this many events there is a second thread: to decode them takes a millisecond, and to begin a thread a twentieth.
const MANY: u64 = 1 << 16;
/// A block of this many events is decoded there.
const LARGE: u64 = 1 << 13;
/// Events of a batch, 640 KiB: to hand one over takes about as long as to decode four thousand events.
const BATCH: usize = 1 << 14;
/// Batches that a block has besides the one that is gone through. PERF: half of them are asked for at a time, since the other thread has
/// often fallen asleep by then, and to wake it takes long.
const AHEAD: usize = 4;
/// Batches of all blocks of a section: 50 MiB.
const MOST_BATCHES: usize = 80;

/// A block that two threads decode, one of them at a time.
#[derive(Debug)]
struct Shared<'a> {
    state: Mutex<State<'a>>,
    /// What was decoded is there, or will not come.
    is_done: Condvar,
}

#[derive(Debug)]
struct State<'a> {
    /// What is left of the block; `None` while a batch is decoded.
    rest: Option<BlockEvents<'a>>,
    /// Whether a batch is decoded.
    is_under_way: bool,
    decoded: VecDeque<Vec<Event>>,
    /// Room for more of them.
    spare: Vec<Vec<Event>>,
}

impl<'a> Shared<'a> {
    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as long as a batch is decoded.
    fn wait<'s>(&self, state: MutexGuard<'s, State<'a>>) -> MutexGuard<'s, State<'a>> {
        self.is_done.wait_while(state, |state| state.is_under_way).unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes as long as there is room.
    fn decode_ahead(&self) {
        loop {
            let mut state = self.wait(self.state());
            let Some(room) = state.spare.pop() else { return };
            self.decode(state, room, |state, events| {
                if !events.is_empty() {
                    state.decoded.push_back(events);
                }
            });
        }
    }

    /// Decodes the next batch in place of what is in `events`. `keep` puts it where it belongs, before anyone decodes the one after it.
    fn decode(
        &self,
        mut state: MutexGuard<'_, State<'a>>,
        mut events: Vec<Event>,
        keep: impl FnOnce(&mut State<'a>, Vec<Event>),
    ) {
        let Some(mut rest) = state.rest.take() else { return };
        state.is_under_way = true;
        drop(state);
        let _under_way = UnderWay(self);
        events.clear();
        events.reserve(BATCH);
        events.extend(rest.by_ref().take(BATCH));
        let mut state = self.state();
        state.rest = Some(rest);
        keep(&mut state, events);
    }
}

/// A batch that is decoded. Whoever waits for it is woken at its end, also if decoding has failed.
struct UnderWay<'s, 'a>(&'s Shared<'a>);

impl Drop for UnderWay<'_, '_> {
    fn drop(&mut self) {
        self.0.state().is_under_way = false;
        self.0.is_done.notify_all();
    }
}

/// For the blocks of one section.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    /// None if there is no thread.
    jobs: Option<Sender<Arc<Shared<'a>>>>,
    is_worth_it: bool,
    /// Batches that each block has besides the one that is gone through.
    ahead: usize,
    /// Blocks that may still be given to it.
    room: usize,
}

impl<'a> Decoder<'a> {
    /// Begins a thread if the section is worth it.
    pub(super) fn new<'scope>(scope: &'scope Scope<'scope, 'a>, section: &EventsSection) -> Self {
        let large = section.blocks().filter(|block| block.n_events() >= LARGE).count();
        let is_worth_it = section.n_events() >= MANY && large > 0;
        let begin = || {
            let (sender, jobs) = channel::<Arc<Shared<'a>>>();
            let decode = move || jobs.into_iter().for_each(|block| block.decode_ahead());
            Builder::new().spawn_scoped(scope, decode).ok().map(|_| sender)
        };
        let ahead = (MOST_BATCHES / large.max(1)).saturating_sub(1).clamp(1, AHEAD);
        let room = MOST_BATCHES / (ahead + 1);
        Self { jobs: is_worth_it.then(begin).flatten(), is_worth_it, ahead, room }
    }

    /// Takes a block over, if it is worth it and there is room.
    pub(super) fn take(&mut self, block: &Block<'a>) -> Option<Decoded<'a>> {
        if !self.is_worth_it || block.n_events() < LARGE || self.room == 0 {
            return None;
        }
        self.room -= 1;
        let after_the_first = block.n_events().saturating_sub(1) / BATCH as u64;
        let ahead = usize::try_from(after_the_first).map_or(self.ahead, |n| n.min(self.ahead));
        let state = State {
            rest: Some(block.events()),
            is_under_way: false,
            decoded: VecDeque::with_capacity(ahead),
            spare: (0..ahead).map(|_| Vec::with_capacity(BATCH)).collect(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), is_done: Condvar::new() });
        let decoded = Decoded { jobs: self.jobs.clone(), shared, many: ahead.div_ceil(2) };
        decoded.ask();
        Some(decoded)
    }
}

/// A block whose next batches are decoded while the last one is gone through.
#[derive(Debug)]
pub(super) struct Decoded<'a> {
    jobs: Option<Sender<Arc<Shared<'a>>>>,
    shared: Arc<Shared<'a>>,
    /// For how many batches there is room when more are asked for.
    many: usize,
}

impl<'a> Decoded<'a> {
    /// The next batch in place of the last one; empty if nothing is left.
    pub(super) fn next_into(&self, events: &mut Vec<Event>) {
        let mut state = self.shared.state();
        if state.decoded.is_empty() {
            state = self.shared.wait(state);
        }
        let last = std::mem::take(events);
        let Some(batch) = state.decoded.pop_front() else {
            return self.shared.decode(state, last, |_, batch| *events = batch);
        };
        *events = batch;
        state.spare.push(last);
        let has_room = state.spare.len() >= self.many;
        drop(state);
        if has_room {
            self.ask();
        }
    }

    /// What is left: events that are decoded, and the others.
    pub(super) fn into_rest(self) -> Option<(Vec<Event>, BlockEvents<'a>)> {
        let mut state = self.shared.wait(self.shared.state());
        // Nothing more is to be decoded.
        state.spare.clear();
        let decoded = state.decoded.drain(..).flatten().collect();
        Some((decoded, state.rest.take()?))
    }

    /// Wants what there is room for.
    fn ask(&self) {
        if let Some(jobs) = &self.jobs {
            // Without the other thread everything is decoded where it is needed.
            let _ = jobs.send(Arc::clone(&self.shared));
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
                assert_eq!(decoder.room, MOST_BATCHES / (AHEAD + 1) - 3);
                assert_eq!(read(&mut streams, 7), expected);
            });
        }
    }

    #[test]
    fn what_was_not_read_is_left_over() {
        let section = section(&[events(2 * MANY)]);
        let plain = Stream::new(0, LeftOver::default(), section.blocks().next(), None, 256);
        let all = read(&mut [plain], 1).remove(0);
        for done in [0, 1, BATCH - 5, BATCH, 5 * BATCH + 1, all.len()] {
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
