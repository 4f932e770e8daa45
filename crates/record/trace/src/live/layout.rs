//! Where everything lies. `repr(C)` structures of atomics: the same bytes for the recorder and the collector.
//!
//! **If you change anything here, raise [`LIVE_VERSION`].**

use super::atomics::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use super::hooks::MOST_HOOKS;
use super::sizes::{MOST_SIZE_TABLES, SizeTable};
use super::traced::{MOST_REQUESTS, Request};

pub use crate::versions::LIVE_VERSION;

/// The first eight bytes of a session.
pub const SESSION_MAGIC: u64 = u64::from_le_bytes(*b"heapwise");

/// Environment variable that names the session file to a recorded process.
pub const SESSION_VARIABLE: &str = "HEAPWISE_SESSION";
/// Environment variable that says what records a program that has wrapped its allocator.
pub const THROUGH_VARIABLE: &str = "HEAPWISE_THROUGH";
/// Its value if the preload library is to record such a program, and not the wrapper.
pub const THROUGH_PRELOAD: &[u8] = b"preload";

/// Name of the note by which an executable says that it has wrapped its allocator and records itself.
pub const WRAPPER_NOTE: &[u8] = b"heapwise\0";
/// Kind of that note.
pub const WRAPPER_NOTE_KIND: u32 = 1;

/// Bytes of the session file: sparse, and never grown, so that no process can be left without.
pub const SESSION_BYTES: u64 = 1 << 46;
/// Bytes of an arena. A process maps as much of it as it needs, and can map more in a `chroot`, after it gave up its
/// privileges or closed its descriptors. Only touched pages take memory.
pub const ARENA_BYTES: u64 = 64 << 20;
/// Most arenas of one process.
pub const MAX_ARENAS: usize = 256;

/// Bit of [`SessionHeader::clock`]: nothing is recorded at the moment (`--delay`).
pub const CLOCK_PAUSED: u64 = 1 << 63;
/// Bit of [`SessionHeader::clock`]: nothing will be recorded any more (time or size is up, the collector is going).
pub const CLOCK_STOPPED: u64 = 1 << 62;
/// The epoch in [`SessionHeader::clock`].
pub const CLOCK_EPOCH_MASK: u64 = CLOCK_STOPPED - 1;

/// The start of the session file.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SessionHeader {
    /// [`SESSION_MAGIC`], stored last by the collector.
    pub magic: AtomicU64,
    /// [`LIVE_VERSION`].
    pub version: AtomicU32,
    /// The collector's process id, to notice its death.
    pub collector_pid: AtomicU32,
    /// Compare every n-th capture with a full unwind; 0 for never.
    pub verify_every: AtomicU32,
    /// Only this process records; 0 for all.
    pub only_pid: AtomicU32,
    /// Non-zero if the collector answers which functions are to be entered through the recorder; see [`super::hooks`].
    pub plans_hooks: AtomicU32,
    /// Non-zero if it has threads traced that ask for it; see [`super::traced`].
    pub traces: AtomicU32,
    /// Counts the collector's rounds, for processes that cannot ask whether it is still there.
    pub rounds: AtomicU32,
    /// At most 2 to the power of this bytes lie between two recorded blocks; 0 if all are recorded.
    pub sample_log2: AtomicU32,
    /// Padding up to the next cache line.
    pub reserved: [AtomicU32; 4],
    /// The epoch and the two flags `CLOCK_*`. Read at every event, so it has a separate cache line.
    pub clock: CacheLine<AtomicU64>,
    /// Offset of the first byte that no process has taken yet.
    pub next_arena: CacheLine<AtomicU64>,
    /// Futex: 1 while the collector sleeps. A producer whose ring fills sets it to 0 and wakes the collector.
    pub wake: CacheLine<AtomicU32>,
    /// Offset of the newest [`ProcessHeader`], 0 if none; each names the one before it.
    pub newest_process: CacheLine<AtomicU64>,
    /// Processes that found the session but could not join it: no memory, or no way to open it any more.
    pub refused: AtomicU32,
    /// Programs that a heapwise inside of this session runs for itself, outside of it.
    pub nested_count: AtomicU32,
    /// What the first of them are called.
    pub nested: [ProgramName; MAX_NESTED_NAMES],
    /// Programs into which nothing can be preloaded and that recorded processes began to execute.
    pub unreached: ProgramNames,
    /// Threads that ask to be traced.
    pub requests: [Request; MOST_REQUESTS],
    /// Those that they began to execute without the library or the session in the environment, or out of reach of it.
    pub bare: ProgramNames,
    /// The recorder that was written into the process that the collector attached to; zeros if there is none.
    pub written: WrittenRecorder,
}

impl SessionHeader {
    /// Whether recording was ended for good.
    pub fn is_stopped(&self) -> bool {
        self.clock.0.load(Ordering::Relaxed) & CLOCK_STOPPED != 0
    }
}

/// Where a recorder is in a process, for whoever comes after a collector that was killed.
#[derive(Debug)]
#[repr(C)]
pub struct WrittenRecorder {
    /// First address of its memory.
    pub start: AtomicU64,
    /// First address behind.
    pub end: AtomicU64,
    /// Its function.
    pub entry: AtomicU64,
}

/// Programs that recorded processes began to execute.
#[derive(Debug)]
#[repr(C)]
pub struct ProgramNames {
    /// How often.
    pub count: AtomicU32,
    /// The first of them, each once.
    pub names: [ProgramName; MAX_UNREACHED_NAMES],
}

/// Most names of programs that a heapwise inside runs.
pub const MAX_NESTED_NAMES: usize = 8;
/// Most names of programs that are not recorded.
pub const MAX_UNREACHED_NAMES: usize = 16;
/// A length of a name that is being written.
pub const NAME_IN_THE_MAKING: u32 = u32::MAX;

/// The name of a program.
#[derive(Debug)]
#[repr(C)]
pub struct ProgramName {
    /// Bytes that are used, published. 0 where there is no name.
    pub len: AtomicU32,
    /// The bytes, cut to what fits.
    pub bytes: [AtomicU8; 252],
}

/// A value in a separate cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CacheLine<T>(pub T);

/// Most threads of one process that can be recorded at the same time.
pub const MAX_RINGS: usize = 8192;
/// Nodes per chunk of the trie. In a model, as below, there are so few that every schedule can be tried.
pub const NODES_PER_CHUNK: u32 = if cfg!(loom) { 4 } else { 1 << 16 };
/// Most chunks of the trie of one process.
pub const MAX_NODE_CHUNKS: usize = if cfg!(loom) { 4 } else { 1024 };
/// Tables in the index of the trie; each has twice the buckets of the one before. The last one fills an arena.
pub const MAX_INDEX_TABLES: usize = 11;
/// Buckets of the first index table.
pub const FIRST_TABLE_BUCKETS: usize = if cfg!(loom) { 1 } else { 1 << 10 };
/// Bytes of the log of modules of one process.
pub const MODULE_LOG_BYTES: usize = 1 << 20;
/// Most names of marks of one process.
pub const MAX_MARK_NAMES: usize = 4096;
/// Most bytes of the name of a mark.
pub const MARK_NAME_BYTES: usize = 200;
/// Bytes of the log of names of one process: room for all of them.
pub const MARK_LOG_BYTES: usize = MAX_MARK_NAMES * (2 + MARK_NAME_BYTES);
/// Most mappings of an allocator's own that are reported.
pub const MAX_ALLOCATOR_MAPPINGS: usize = 1024;
/// Bytes kept of a process's command line.
pub const COMMAND_BYTES: usize = 4096;
/// Bytes kept of the name of the allocator's object file.
pub const ALLOCATOR_BYTES: usize = 256;

/// One recorded process (one program image: `exec` starts another one).
#[derive(Debug)]
#[repr(C, align(64))]
pub struct ProcessHeader {
    /// Offset of the process that came before, 0 for none. Written before this one is published.
    pub previous: AtomicU64,
    /// Process id, as the collector sees it: the process may be in another pid namespace.
    pub pid: AtomicU32,
    /// Process id of the parent, in the same way.
    pub parent_pid: AtomicU32,
    /// Offset of the `ProcessHeader` of which this process is a fork, 0 if it started with an `exec`.
    pub forked_from: AtomicU64,
    /// The clock when it was attached.
    pub start_epoch: AtomicU64,
    /// Bytes of `command` that are used: the arguments, each ended by a zero byte.
    pub command_len: AtomicU32,
    /// Bytes of `allocator` that are used.
    pub allocator_len: AtomicU32,
    /// Events that could not be recorded without a ring: no thread slot left, re-entered by a signal handler.
    pub lost_events: AtomicU64,
    /// Stacks that were compared with a full unwind.
    pub verified: AtomicU64,
    /// Of these, how many differed.
    pub verify_failed: AtomicU64,
    /// The last frame address at which a comparison differed.
    pub verify_failed_at: AtomicU64,
    /// Rings that were ever made, published.
    pub ring_count: AtomicU32,
    /// Nodes of the trie, including the reserved node 0.
    pub node_count: AtomicU32,
    /// Bytes used in the module log, published.
    pub module_log_len: AtomicU32,
    /// See [`exit_state`]. Also the futex on which a process that ends waits.
    pub exiting: AtomicU32,
    /// Offset of the module log.
    pub module_log: AtomicU64,
    /// Offset of the log of names of marks, 0 until there is one; see [`super::marks`].
    pub mark_log: AtomicU64,
    /// Bytes used in that log, published.
    pub mark_log_len: AtomicU32,
    /// Non-zero once the process has forbidden itself the processor's clock, or all system calls: no times are measured.
    pub no_clock: AtomicU32,
    /// Offsets of this process's arenas; the first one begins with this header.
    pub arenas: [AtomicU64; MAX_ARENAS],
    /// Offsets of the rings.
    pub rings: [AtomicU64; MAX_RINGS],
    /// Offsets of the chunks of nodes.
    pub node_chunks: [AtomicU64; MAX_NODE_CHUNKS],
    /// Offsets of the index tables.
    pub index_tables: [AtomicU64; MAX_INDEX_TABLES],
    /// The command line.
    pub command: [AtomicU8; COMMAND_BYTES],
    /// Path of the object that provides the real `malloc`.
    pub allocator: [AtomicU8; ALLOCATOR_BYTES],
    /// Address and length of what the allocator has mapped; a length of 0 is none.
    pub allocator_mappings: [[AtomicU64; 2]; MAX_ALLOCATOR_MAPPINGS],
    /// Where the recorder itself lies, if it is in no file: first address and first address behind.
    pub own_memory: [AtomicU64; 2],
    /// Offset of the table of hooks ([`SharedHook`](super::hooks::SharedHook)), 0 if there is none.
    pub hook_table: AtomicU64,
    /// Non-zero if the recorder is a part of the program: such a one asks for no functions.
    pub is_in_program: AtomicU32,
    /// What allocators inside of the process say of their sizes.
    pub size_tables: [SizeTable; MOST_SIZE_TABLES],
    /// Allocators of which a heap has ended with blocks that could not be found out: a bit for each number in events.
    pub unseen_heap_ends: AtomicU64,
    /// Address of the `malloc` that is found before the preload library's, if another library stands in front of that; 0 if not.
    pub malloc_in_front: AtomicU64,
    /// How often the process has asked which functions of the files that it has mapped are to be entered through the recorder.
    pub hooks_asked: AtomicU32,
    /// Which of the questions is answered. Also the futex on which the process waits.
    pub hooks_answered: AtomicU32,
    /// Hooks in the table, published by the collector.
    pub hook_count: AtomicU32,
    /// What came of each; see [`result`](super::hooks::result).
    pub hook_results: [AtomicU8; MOST_HOOKS],
}

/// A process that ends by itself lets the collector take a snapshot of its pages before they are gone.
pub mod exit_state {
    /// It goes on.
    pub const RUNNING: u32 = 0;
    /// It is about to end, and waits a moment.
    pub const ANNOUNCED: u32 = 1;
    /// The collector has taken its snapshot.
    pub const SEEN: u32 = 2;
    /// The process waits no more: a snapshot since then may be incomplete.
    pub const GONE_ON: u32 = 3;
}

/// Life of a ring.
pub mod ring_state {
    /// The collector has drained it and its thread is gone: the next new thread may take it.
    pub const FREE: u32 = 0;
    /// A thread owns it.
    pub const OWNED: u32 = 1;
}

/// Bytes from the start of a ring's header to its first event.
pub const RING_DATA_OFFSET: u64 = 4096;

/// Bytes of events that the n-th ring of a process holds, counted from 0: a power of two. A few threads get room to burst,
/// thousands do not take all.
pub const fn ring_capacity(index: usize) -> u64 {
    match index {
        0..8 => 2 << 20,
        8..64 => 512 << 10,
        _ => 128 << 10,
    }
}

/// One thread's ring. The events follow at [`RING_DATA_OFFSET`].
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct RingHeader {
    /// Bytes ever written. Only the owner writes.
    pub head: AtomicU64,
    /// Events dropped since the collector did not make room in time.
    pub lost_events: AtomicU64,
    /// Non-zero while the owner waits for room.
    pub waiting: AtomicU32,
    /// Padding up to the next cache line.
    pub reserved: [AtomicU32; 11],
    /// Bytes ever read. Only the collector writes. Also the futex (low half) on which a full ring waits.
    pub tail: CacheLine<AtomicU64>,
    /// See [`ring_state`].
    pub state: AtomicU32,
    /// Kernel id of the owning thread, as the collector sees it; 0 if that is not known.
    pub tid: AtomicU32,
    /// `pthread_self` of the owning thread.
    pub handle: AtomicU64,
    /// How often the ring changed its owner.
    pub incarnation: AtomicU64,
    /// Clock when the owner took it.
    pub start_epoch: AtomicU64,
    /// Bytes of the ring; see [`ring_capacity`].
    pub capacity: AtomicU64,
    /// Where the owner's private state lies in its process, to be used again by the next owner.
    pub private_state: AtomicU64,
    /// How many bytes that has.
    pub private_bytes: AtomicU64,
    /// Name of the thread when it took the ring: 16 bytes, zero-terminated.
    pub name: [AtomicU64; 2],
}

/// A record of the module log: this header, then `path_len` bytes of path, padded to eight bytes.
///
/// | bytes | content |
/// |---|---|
/// | 0..4 | length of the record with padding |
/// | 4..8 | generation: how often modules had been unloaded before |
/// | 8..16 | first address |
/// | 16..24 | first address behind |
/// | 24..32 | load bias: run-time address minus link-time address |
/// | 32..36 | bytes of the build id that are used |
/// | 36..40 | bytes of the path |
/// | 40..72 | build id |
pub const MODULE_RECORD_HEADER: usize = 72;
/// Most bytes of a build id that are kept.
pub const BUILD_ID_BYTES: usize = 32;

/// A node of the trie of stacks, at `node_chunks[id / NODES_PER_CHUNK]`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct NodeRecord {
    /// Return address and flags, see [`super::node`]; 0 until it is published.
    pub key: AtomicU64,
    /// Id of the caller's node.
    pub parent: AtomicU32,
    /// Zero.
    pub reserved: AtomicU32,
}

/// Entries of one bucket of an index table: one cache line.
pub const BUCKET_ENTRIES: usize = if cfg!(loom) { 2 } else { 8 };

/// A bucket of an index table: `tag << 32 | node id`, 0 where it is empty.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Bucket(pub [AtomicU64; BUCKET_ENTRIES]);

const _: () = assert!(size_of::<RingHeader>() as u64 <= RING_DATA_OFFSET);
#[cfg(not(loom))]
const _: () = assert!(size_of::<NodeRecord>() == 16);
/// Bytes before the first arena.
pub const SESSION_HEADER_BYTES: u64 = 64 << 10;
#[cfg(not(loom))]
const _: () = assert!(size_of::<SessionHeader>() as u64 <= SESSION_HEADER_BYTES);
