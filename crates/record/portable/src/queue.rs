//! From the program's threads to the writer's.
//!
//! One buffer for all threads, behind a lock that is held while a few hundred bytes are copied; the writer takes the buffer
//! away and leaves an empty one. So there is one order for everything.

use heapwise_trace::event::{AllocFunction, MarkKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Words of a buffer: two of these are what the queue takes. 4 MiB each.
const WORDS: usize = 512 << 10;

/// How long a thread waits for room when what empties the queue does not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Where all events are recorded.
    Long,
    /// In the recording of a sample.
    Short,
    /// For a profile, which the program is not to notice: what is lost there is counted.
    None,
}

impl Patience {
    fn duration(self) -> Duration {
        match self {
            Self::Long => Duration::from_secs(5),
            Self::Short => Duration::from_millis(20),
            Self::None => Duration::ZERO,
        }
    }
}

static IS_TO_STOP: AtomicBool = AtomicBool::new(false);

/// Says whether the writer is to stop; if so, [`take`] does not wait for entries.
pub(super) fn set_to_stop(stop: bool) {
    IS_TO_STOP.store(stop, Ordering::Release);
}

/// Whether the writer is to come to an end.
pub(super) fn is_to_stop() -> bool {
    IS_TO_STOP.load(Ordering::Acquire)
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Alloc {
        function: AllocFunction,
        align_log2: u8,
    },
    Free,
    ReallocBegin,
    ReallocEnd,
    /// The allocator refused to resize a block, which stays.
    Stays,
    Failed {
        function: AllocFunction,
    },
}

/// Stands for the address of a block that there is no place for among the live ones.
pub(super) const UNFOLLOWED: u64 = 0;

/// What happened to which block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) kind: Kind,
    /// In a profile, [`UNFOLLOWED`] for a block whose end will not be noted.
    pub(super) address: u64,
    pub(super) size: u64,
}

/// What the writer gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// An event of a thread; the time is since the beginning.
    Event { thread: u32, time_ns: u64, note: Note, frames: &'a [u64] },
    /// A thread says what it is doing.
    Mark { thread: u32, time_ns: u64, kind: MarkKind, name: String },
    /// What a thread is called.
    Name { thread: u32, id: u64, name: String },
}

struct State {
    words: Vec<u64>,
    began: Option<Instant>,
}

static STATE: Mutex<State> = Mutex::new(State { words: Vec::new(), began: None });
static HAS_WORK: Condvar = Condvar::new();
static LOST: AtomicU64 = AtomicU64::new(0);
static LOST_FREES: AtomicU64 = AtomicU64::new(0);

const MARK: u64 = 6;
const NAME: u64 = 7;
const MOST_WORDS: usize = 4 + super::stack::MOST_FRAMES;

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room and starts the clock.
pub(super) fn open(began: Instant) {
    let words = Vec::with_capacity(WORDS);
    *lock() = State { words, began: Some(began) };
    LOST.store(0, Ordering::Relaxed);
    LOST_FREES.store(0, Ordering::Relaxed);
}

/// Takes no more events, and gives what is left.
pub(super) fn close() -> Vec<u64> {
    std::mem::replace(&mut *lock(), State { words: Vec::new(), began: None }).words
}

/// Events that are missing. Names of threads are not among them: they are reported again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// Ends of blocks, or the beginnings of their reallocations.
    pub(super) frees: u64,
    /// All others.
    pub(super) others: u64,
}

impl Lost {
    pub(super) fn all(self) -> u64 {
        self.frees + self.others
    }
}

/// Counts an event that is not in the recording, other than the end of a block.
pub(super) fn lose() {
    LOST.fetch_add(1, Ordering::Relaxed);
}

/// Counts an event of this kind that is not in the recording.
pub(super) fn lose_one(kind: Kind) {
    let count = if matches!(kind, Kind::Free | Kind::ReallocBegin) { &LOST_FREES } else { &LOST };
    count.fetch_add(1, Ordering::Relaxed);
}

/// How many events are not in the recording.
pub(super) fn lost() -> Lost {
    Lost { frees: LOST_FREES.load(Ordering::Relaxed), others: LOST.load(Ordering::Relaxed) }
}

/// Hands an event over; `false` if it was lost, or if the recording is over.
pub(super) fn push(thread: u32, note: Note, frames: &[usize], patience: Patience) -> bool {
    let frames = &frames[..frames.len().min(super::stack::MOST_FRAMES)];
    let (kind, extra) = match note.kind {
        Kind::Alloc { function, align_log2 } => (1, function as u64 | u64::from(align_log2) << 4),
        Kind::Free => (2, 0),
        Kind::ReallocBegin => (3, 0),
        Kind::ReallocEnd => (4, 0),
        Kind::Failed { function } => (5, function as u64),
        Kind::Stays => (8, 0),
    };
    let Some(mut state) = with_room(4 + frames.len(), patience) else {
        lose_one(note.kind);
        return false;
    };
    let Some(began) = state.began else { return false };
    let time_ns = began.elapsed().as_nanos() as u64;
    let header = kind | extra << 4 | (frames.len() as u64) << 16 | u64::from(thread) << 32;
    state.words.extend([header, time_ns, note.address, note.size]);
    state.words.extend(frames.iter().map(|frame| *frame as u64));
    let is_half_full = state.words.len() > WORDS / 2;
    drop(state);
    if is_half_full {
        HAS_WORK.notify_one();
    }
    true
}

/// Hands over a thread's name. Without room for it, it is dropped and reported again later.
pub(super) fn name(thread: u32, id: u64, name: &[u8]) {
    let Some(mut state) = with_room(2 + name.len().div_ceil(8), Patience::Short) else { return };
    if state.began.is_none() {
        return;
    }
    state.words.extend([NAME | (name.len() as u64) << 16 | u64::from(thread) << 32, id]);
    state.words.extend(in_words(name));
}

/// Hands a mark over, with a name that is short enough. It is counted as lost if there is no room for it.
pub(super) fn mark(thread: u32, kind: MarkKind, name: &[u8], patience: Patience) {
    let Some(mut state) = with_room(2 + name.len().div_ceil(8), patience) else { return lose() };
    let Some(began) = state.began else { return };
    let time_ns = began.elapsed().as_nanos() as u64;
    let header = MARK | (kind as u64) << 4 | (name.len() as u64) << 16 | u64::from(thread) << 32;
    state.words.extend([header, time_ns]);
    state.words.extend(in_words(name));
}

fn in_words(text: &[u8]) -> impl Iterator<Item = u64> {
    text.chunks(8).map(|chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    })
}

/// The buffer with room for so many words. The buffer never grows, so this allocates nothing.
fn with_room(words: usize, patience: Patience) -> Option<MutexGuard<'static, State>> {
    debug_assert!(words <= MOST_WORDS);
    let has_room =
        |state: &State| state.began.is_none() || state.words.capacity() - state.words.len() >= words;
    let state = lock();
    if has_room(&state) {
        return Some(state);
    }
    drop(state);
    if patience == Patience::None {
        return None;
    }
    let begin = Instant::now();
    loop {
        HAS_WORK.notify_one();
        std::thread::sleep(Duration::from_micros(200));
        let state = lock();
        if has_room(&state) {
            return Some(state);
        }
        drop(state);
        if begin.elapsed() > patience.duration() {
            return None;
        }
    }
}

/// Wakes whoever empties the queue.
pub(super) fn wake() {
    // Not between its look at whether it is to stop and its sleep.
    drop(lock());
    HAS_WORK.notify_all();
}

/// Waits until there is much to do, at most for `longest`.
pub(super) fn wait(longest: Duration) {
    let _ =
        HAS_WORK.wait_timeout_while(lock(), longest, |state| state.words.len() <= WORDS / 2 && !is_to_stop());
}

/// Exchanges the buffer for an empty one.
pub(super) fn take(empty: Vec<u64>) -> Vec<u64> {
    debug_assert!(empty.is_empty());
    std::mem::replace(&mut lock().words, empty)
}

/// An empty buffer.
pub(super) fn buffer() -> Vec<u64> {
    Vec::with_capacity(WORDS)
}

/// Bytes of both buffers when they were once full. Pages that were never filled take nothing.
pub(super) fn most_bytes() -> u64 {
    2 * WORDS as u64 * 8
}

/// Goes through what was taken.
pub(super) fn entries(words: &[u64]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = words;
    std::iter::from_fn(move || {
        let (&header, more) = rest.split_first()?;
        let (thread, len, extra) =
            ((header >> 32) as u32, (header >> 16 & 0xffff) as usize, header >> 4 & 0xfff);
        if let what @ (NAME | MARK) = header & 0xf {
            let (&number, more) = more.split_first()?;
            let (text, more) = more.split_at_checked(len.div_ceil(8))?;
            let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_le_bytes()).take(len).collect();
            rest = more;
            let name = String::from_utf8_lossy(&bytes).into_owned();
            return Some(match what {
                NAME => Entry::Name { thread, id: number, name },
                _ => {
                    let kind = MarkKind::from_code(extra).unwrap_or_default();
                    Entry::Mark { thread, time_ns: number, kind, name }
                }
            });
        }
        let function = AllocFunction::from_code((extra & 0xf) as u8);
        let kind = match header & 0xf {
            1 => Kind::Alloc { function, align_log2: (extra >> 4) as u8 },
            2 => Kind::Free,
            3 => Kind::ReallocBegin,
            4 => Kind::ReallocEnd,
            8 => Kind::Stays,
            _ => Kind::Failed { function },
        };
        let (&[time_ns, address, size], more) = more.split_first_chunk::<3>()?;
        let (frames, more) = more.split_at_checked(len)?;
        rest = more;
        Some(Entry::Event { thread, time_ns, note: Note { kind, address, size }, frames })
    })
}
