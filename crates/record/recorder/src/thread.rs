//! The recorder's state of one thread: private memory, reached through a thread-local word.

use crate::address_space;
use crate::arch::tls::{ThreadWords, thread_pointer};
use crate::process::{PROCESS, Process};
use crate::ring::Producer;
use crate::sys;
use crate::unwind::stack::RememberedStack;
use crate::unwind::tables::FIRST_BYTES;
use core::sync::atomic::{AtomicU64, Ordering};
use heapwise_trace::live::layout::{
    CLOCK_EPOCH_MASK, MAX_RINGS, ProcessHeader, RING_DATA_OFFSET, RingHeader, ring_capacity, ring_state,
};

/// State of one thread. Zeroed memory is a valid state that belongs to no process yet.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadState {
    /// The thread's ring.
    pub ring: Producer<'static>,
    /// The clock at the thread's last event, flags included.
    pub clock: u64,
    /// [`Process::stamp`] of the process in which the ring was taken.
    pub stamp: u32,
    /// Module generation of the remembered stack.
    pub generation: u32,
    /// How many large blocks may still be measured before the clock moves.
    pub large_budget: u32,
    /// Bytes that belong to the state: itself, and what follows it.
    bytes: usize,
    /// The last stack.
    pub stack: RememberedStack,
}

/// Threads that get more memory than the ones after them.
const FIRST_THREADS: usize = 8;

/// Bytes of a ring by how many rings its process has, less where address space is short. The fewer bytes there are, the more
/// often a thread waits for the collector.
fn ring_bytes(count: usize, limit: Option<usize>) -> usize {
    const LEAST: usize = 16 << 10;
    let most = limit.map_or(usize::MAX, |limit| (limit >> 12).max(LEAST));
    (ring_capacity(count) as usize).min(1 << most.ilog2())
}

/// Maps the state of a thread that is the how-manieth: the state itself, its first tables and, unless address space is short,
/// what makes its walks faster: not for the few stacks of a sample, either.
fn new_state(index: usize, process: &Process) -> Option<*mut ThreadState> {
    let head = size_of::<ThreadState>().next_multiple_of(16);
    let is_short = address_space::limit().is_some();
    let has_nodes = (index < FIRST_THREADS || !is_short) && !process.is_sampling();
    let has_segments = has_nodes && !is_short;
    // Aligned to lines of the cache.
    let nodes_at = (head + FIRST_BYTES).next_multiple_of(64);
    let segments_at =
        (nodes_at + if has_nodes { RememberedStack::NODE_BYTES } else { 0 }).next_multiple_of(64);
    let bytes = segments_at + if has_segments { RememberedStack::SEGMENT_BYTES } else { 0 };
    let at = address_space::map_private(bytes)?;
    let state: *mut ThreadState = at.cast();
    // SAFETY: the memory is fresh, zeroed, which is a valid state, and as large as the parts, which do not overlap. It is
    // used by nothing else.
    unsafe {
        (*state).bytes = bytes;
        let part = |is_there: bool, part: usize| match is_there {
            true => at.add(part),
            false => core::ptr::null_mut(),
        };
        (*state).stack.begin(at.add(head), part(has_nodes, nodes_at), part(has_segments, segments_at));
    }
    Some(state)
}

impl ThreadState {
    /// Makes, or after a fork makes anew, the calling thread's state. The process is attached and the thread's guard
    /// is set. `None` if there is no room; the event is lost.
    pub fn attach(current: *mut ThreadState, process: &Process) -> Option<*mut ThreadState> {
        let header = process.header()?;
        address_space::look();
        let (ring, index) = take_ring(header, process)?;
        let state = match (current.is_null(), ring.private_state.load(Ordering::Relaxed)) {
            // A forked child goes on with the copy of the memory that the thread had in its parent.
            (false, _) => current,
            (true, 0) => match new_state(index, process) {
                Some(state) => state,
                None => {
                    // For another thread, or this one's next event.
                    ring.state.store(ring_state::FREE, Ordering::Release);
                    return None;
                }
            },
            (true, used_before) => used_before as *mut ThreadState,
        };
        ring.private_state.store(state as u64, Ordering::Relaxed);
        // SAFETY: `state` is memory for a `ThreadState` that belongs to this thread: fresh, its own, or that of a
        // thread which the collector found gone before it freed the ring.
        let thread = unsafe { &mut *state };
        ring.private_bytes.store(thread.bytes as u64, Ordering::Relaxed);
        let clock = process.session()?.clock.0.load(Ordering::Acquire);
        ring.tid.store(process.thread_id(), Ordering::Relaxed);
        ring.handle.store(thread_pointer() as u64, Ordering::Relaxed);
        thread.ring = Producer::new(ring, words_of(ring)?);
        set_name(ring, sys::thread_name());
        ring.start_epoch.store(clock & CLOCK_EPOCH_MASK, Ordering::Relaxed);
        ring.incarnation.fetch_add(1, Ordering::Release);
        // Without the flags: while nothing is recorded the thread has to find that the clock says something else.
        thread.clock = clock & CLOCK_EPOCH_MASK;
        let before = core::mem::replace(&mut thread.stamp, process.stamp());
        thread.generation = process.modules.generation();
        thread.large_budget = 0;
        thread.stack.forget();
        if before != 0 && before != thread.stamp {
            // A forked child has a separate trie.
            thread.stack.forget_nodes();
        }
        if index > 0 {
            process.threaded.store(1, Ordering::Relaxed);
        }
        Some(state)
    }
}

/// The words of a ring's events; `None` if it has none, which does not occur in rings of the recorder.
fn words_of(ring: &'static RingHeader) -> Option<&'static [AtomicU64]> {
    let count = ring.capacity.load(Ordering::Relaxed) as usize / 8;
    // SAFETY: a ring's words follow its header at this offset in the same extent, which is never unmapped; they are atomics.
    let words = unsafe {
        let at = core::ptr::from_ref(ring).cast::<u8>().add(RING_DATA_OFFSET as usize);
        core::slice::from_raw_parts(at.cast::<AtomicU64>(), count)
    };
    count.is_power_of_two().then_some(words)
}

fn set_name(ring: &RingHeader, name: [u64; 2]) {
    ring.name.iter().zip(name).for_each(|(to, from)| to.store(from, Ordering::Relaxed));
}

/// Notes what a thread of this process is called now, if it has a ring.
pub fn rename(handle: u64, name: &[u8]) {
    let Some(header) = PROCESS.header() else { return };
    let count = (header.ring_count.load(Ordering::Acquire) as usize).min(MAX_RINGS);
    let rings = PROCESS.rings[..count].iter().filter_map(|ring| {
        // SAFETY: the first `count` pointers are those of rings, which are never unmapped.
        unsafe { ring.load(Ordering::Relaxed).as_ref() }
    });
    let owned = rings.filter(|ring| ring.state.load(Ordering::Acquire) == ring_state::OWNED);
    // A handle is used again as soon as its thread was joined, so an older ring may have it, too.
    let named = owned.filter(|ring| ring.handle.load(Ordering::Relaxed) == handle);
    if let Some(ring) = named.max_by_key(|ring| ring.start_epoch.load(Ordering::Relaxed)) {
        let mut bytes = [0u8; 16];
        // Zero-terminated, as the kernel's.
        bytes.iter_mut().take(15).zip(name).for_each(|(to, &from)| *to = from);
        let half = |at: usize| u64::from_le_bytes(core::array::from_fn(|i| bytes[at + i]));
        set_name(ring, [half(0), half(8)]);
    }
}

/// A ring for a new thread: one whose thread is gone, or a new one.
fn take_ring(header: &'static ProcessHeader, process: &Process) -> Option<(&'static RingHeader, usize)> {
    let held = process.region.hold()?;
    let count = header.ring_count.load(Ordering::Relaxed) as usize;
    for (index, ring) in process.rings[..count.min(MAX_RINGS)].iter().enumerate() {
        // SAFETY: the first `count` pointers were stored by the code below and stay valid.
        let ring = unsafe { ring.load(Ordering::Relaxed).as_ref() }?;
        if ring.state.load(Ordering::Acquire) == ring_state::FREE {
            ring.state.store(ring_state::OWNED, Ordering::Release);
            return Some((ring, index));
        }
    }
    if count == MAX_RINGS {
        return None;
    }
    let bytes = ring_bytes(count, address_space::limit());
    let extent = process.region.allocate(&held, RING_DATA_OFFSET as usize + bytes)?;
    // SAFETY: the extent is large enough, zeroed, page-aligned and never unmapped; all fields are atomics.
    let ring = unsafe { &*extent.at.cast::<RingHeader>() };
    ring.capacity.store(bytes as u64, Ordering::Relaxed);
    ring.state.store(ring_state::OWNED, Ordering::Relaxed);
    process.rings[count].store(extent.at.cast(), Ordering::Relaxed);
    header.rings[count].store(extent.offset, Ordering::Relaxed);
    header.ring_count.store(count as u32 + 1, Ordering::Release);
    Some((ring, count))
}

/// The state of the thread with these words if it is attached to this process.
pub fn current(words: &ThreadWords, process: &Process) -> Option<&'static mut ThreadState> {
    // SAFETY: null, or this thread's own state, which no other thread touches; the guard keeps this thread from having
    // two references at work at the same time.
    let state = unsafe { words.state.as_mut() }?;
    (state.stamp == process.stamp()).then_some(state)
}
