//! What a replaying process and the one that watches it have in common: a file in memory.
//!
//! All of it is mapped shared, so none of it counts as anonymous memory of the replaying process, and its heap is all of that
//! there is. The parts follow each other, each aligned to a page:
//!
//! | part | size |
//! |---|---|
//! | [`Header`] | one |
//! | progress: the epoch that each thread is in | 4 bytes a thread |
//! | threads of creations | 4 bytes a creation |
//! | [`ThreadState`] | one a thread |
//! | [`Slot`] | one a slot |
//! | [`Place`]: where threads sleep that wait for others | [`PLACES`] |
//! | pieces of streams that are being read | 64 KiB a thread |
//! | pages that ever held a block | a bit for each page of the address space; nearly all of it is never touched |

use crate::replay::script::record::PIECE_BYTES;
use heapwise_allocators::OwnStatistics;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// The first word of the header.
pub(crate) const MAGIC: u64 = 0x7265_706c_6179_0001;
/// A thread that has not begun or has ended, in the table of progress.
pub(crate) const NOT_RUNNING: u32 = u32::MAX;
pub(crate) const NO_THREAD: u32 = u32::MAX;
/// Binary logarithm of the bytes of a page in the table of pages.
pub(crate) const PAGE_SHIFT: u32 = 12;
/// Binary logarithm of the size of the address space of a program.
const ADDRESS_BITS: u32 = 47;
/// Kinds of calls that are distinguished.
pub(crate) const KINDS: usize = 3;
/// Slowest calls that are kept for each thread.
pub(crate) const SLOWEST: usize = 16;
/// Classes of durations; see [`crate::replay::latency`].
pub(crate) const CLASSES: usize = 320;

/// What concerns the whole replay.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) magic: AtomicU64,
    pub(crate) n_threads: AtomicU32,
    pub(crate) n_creations: AtomicU32,
    pub(crate) n_slots: AtomicU32,
    /// How many epochs a thread may be ahead of the slowest one.
    pub(crate) window: AtomicU32,
    /// Every n-th piece of a stream is timed; 0 for none.
    pub(crate) time_every: AtomicU32,
    /// 1 to do everything but the calls, which shows what the replay itself costs.
    pub(crate) is_empty: AtomicU32,
    /// 1 to note which pages ever held blocks.
    pub(crate) notes_pages: AtomicU32,
    /// Recorded time is divided by this; 0 for no pauses at all.
    pub(crate) compression: AtomicU32,
    /// Durations from here on may be those of another process that had the processor.
    pub(crate) suspicious_ticks: AtomicU64,
    /// Bytes of address space that the replaying process may have for data; 0 for any.
    pub(crate) most_data: AtomicU64,
    /// 1 when the replaying process has mapped everything.
    pub(crate) is_ready: AtomicU32,
    /// 1 to begin.
    pub(crate) begin: AtomicU32,
    /// What one of the threads that stay has to do; see [`wish`].
    pub(crate) wish: AtomicU32,
    /// 1 to end.
    pub(crate) end: AtomicU32,
    /// Threads wait before this epoch, or before [`ThreadState::stop`], until it is another one; 0 for none.
    pub(crate) snapshot_at: AtomicU32,
    /// Threads that were started and have not ended.
    pub(crate) running: AtomicU32,
    /// Of these, how many wait for a snapshot.
    pub(crate) parked: AtomicU32,
    /// Of these, how many have done everything and stay.
    pub(crate) staying: AtomicU32,
    /// The epoch of the thread that is furthest behind, or an earlier one.
    pub(crate) slowest: AtomicU32,
    /// How many threads were started by others.
    pub(crate) spawned: AtomicU32,
    /// What kept the process from going on, as a number of the operating system; 0 if nothing did.
    pub(crate) trouble: AtomicI32,
    /// Calls that got no memory.
    pub(crate) refused: AtomicU64,
    /// The allocator's statistics of its memory, as [`OwnStatistics::numbers`].
    pub(crate) own: [AtomicU64; OwnStatistics::LEN],
}

/// Values of [`Header::wish`].
pub(crate) mod wish {
    /// Request the allocator's own statistics.
    pub(crate) const TELL: u32 = 1;
    /// Return free pages to the system by a call.
    pub(crate) const PURGE: u32 = 2;
    /// A thread is at it.
    pub(crate) const TAKEN: u32 = 3;
    pub(crate) const DONE: u32 = 4;
    /// The allocator has nothing of the kind.
    pub(crate) const NOT_POSSIBLE: u32 = 5;
}

/// A block's place.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot {
    /// Address in the lower 48 bits, 0 if it is empty, and the generation above.
    pub(crate) content: AtomicU64,
    /// Requested bytes.
    pub(crate) size: AtomicU64,
}

/// Places to sleep. A power of two.
pub(crate) const PLACES: usize = 1 << 12;

/// Where threads sleep that wait for others.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// How many there are, above 32 bits, and what they wait for.
    pub(crate) sleepers: AtomicU64,
    /// They wait for another number here.
    pub(crate) changes: AtomicU32,
}

/// Times of a kind of call.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Times {
    /// Calls that were timed.
    pub(crate) timed: AtomicU64,
    /// Their ticks, but for those during which another process had the processor.
    pub(crate) ticks: AtomicU64,
    /// Ticks of calls that waited for another thread, which are in the classes only.
    pub(crate) waited_ticks: AtomicU64,
    /// Calls during which another process had the processor.
    pub(crate) disturbed: AtomicU64,
    pub(crate) classes: [AtomicU32; CLASSES],
}

/// A slow call.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slow {
    pub(crate) ticks: AtomicU64,
    /// Where its record lies.
    pub(crate) position: AtomicU64,
}

/// What concerns a thread.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ThreadState {
    /// Where its stream begins.
    pub(crate) first: AtomicU64,
    /// Before which record it waits for a snapshot; `u64::MAX` for none.
    pub(crate) stop: AtomicU64,
    /// 1 if another thread starts it.
    pub(crate) is_spawned: AtomicU32,
    /// 1 if another thread waits for its end.
    pub(crate) is_joined: AtomicU32,
    /// Its `pthread_t` once it was started.
    pub(crate) handle: AtomicU64,
    /// 1 once it has begun.
    pub(crate) has_begun: AtomicU32,
    /// 1 once it has ended.
    pub(crate) has_ended: AtomicU32,
    /// Calls that it made.
    pub(crate) calls: AtomicU64,
    pub(crate) times: [Times; KINDS],
    /// The shortest of [`ThreadState::slowest`] is replaced by a longer one.
    pub(crate) slowest: [Slow; SLOWEST],
}

/// Where the parts are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) progress: usize,
    pub(crate) creations: usize,
    pub(crate) threads: usize,
    pub(crate) slots: usize,
    pub(crate) places: usize,
    pub(crate) pieces: usize,
    pub(crate) pages: usize,
    pub(crate) bytes: usize,
}

impl Layout {
    pub(crate) fn new(n_threads: u32, n_creations: u32, n_slots: u32) -> Self {
        let (threads, creations, slots) = (n_threads as usize, n_creations as usize, n_slots as usize);
        let page = 1usize << PAGE_SHIFT;
        let mut at = size_of::<Header>().next_multiple_of(page);
        let mut part = |bytes: usize| {
            let start = at;
            at += bytes.next_multiple_of(page);
            start
        };
        let progress = part(threads * 4);
        let creations = part(creations * 4);
        let states = part(threads * size_of::<ThreadState>());
        let slots = part(slots * size_of::<Slot>());
        let places = part(PLACES * size_of::<Place>());
        let pieces = part(threads * PIECE_BYTES as usize);
        let pages = part(1 << (ADDRESS_BITS - PAGE_SHIFT - 3));
        Self { progress, creations, threads: states, slots, places, pieces, pages, bytes: at }
    }
}
