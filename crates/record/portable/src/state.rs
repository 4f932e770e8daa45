//! State of this process's recording, for the code that notes, writes and ends it.

use super::queue::Patience;
use super::sampler;
use heapwise_trace::file::records::EnvironmentFinding;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Number of the recording that is under way, 0 if there is none.
pub(super) static RECORDING: AtomicU32 = AtomicU32::new(0);
/// The process that it is of, from its beginning to its end, and 0 then. A child that was forked is another one.
pub(super) static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Whether it is a profile in memory. Set before the number is.
pub(super) static IS_PROFILE: AtomicBool = AtomicBool::new(false);
pub(super) static IS_EXITING: AtomicBool = AtomicBool::new(false);
/// The type of the inner allocator.
pub(super) static INNER: OnceLock<&'static str> = OnceLock::new();

/// The recording that is under way in this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    pub(super) recording: u32,
    /// It is a profile in memory, not a file.
    pub(super) is_profile: bool,
}

impl Active {
    #[inline]
    pub(super) fn here() -> Option<Self> {
        let recording = RECORDING.load(Ordering::Acquire);
        let is_profile = IS_PROFILE.load(Ordering::Relaxed);
        (recording != 0 && is_own_process()).then_some(Self { recording, is_profile })
    }

    /// How long its threads wait where the queue is full.
    pub(super) fn patience(self) -> Patience {
        match (self.is_profile, sampler::always_wins()) {
            (true, _) => Patience::None,
            (false, true) => Patience::Long,
            // A single event of many is not worth it.
            (false, false) => Patience::Short,
        }
    }
}

pub(super) fn is_own_process() -> bool {
    PROCESS.load(Ordering::Relaxed) == std::process::id()
}

/// Whether the recording ends with the process.
pub(super) fn is_exiting() -> bool {
    IS_EXITING.load(Ordering::Acquire)
}

/// The allocator, as far as its type shows: empty for the system's allocator, the name of one that heapwise knows, or
/// the name of the type.
pub(super) fn allocator() -> String {
    let inner = INNER.get().copied().unwrap_or_default();
    match heapwise_allocators::by_type(inner) {
        Some(family) => family.name.to_owned(),
        None if inner.ends_with("::System") => String::new(),
        None => inner.to_owned(),
    }
}

/// What the recorder needs of the library that the program uses.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Nothing is to be noted any more. Called once for each recording at least, by any thread.
    pub ended: fn(),
    /// What slows this process's heap from outside of its code.
    pub environment: fn() -> Vec<EnvironmentFinding>,
}

/// Set with the first recording that begins.
pub(super) static HOOKS: OnceLock<&'static Hooks> = OnceLock::new();

/// What came of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// Events in it.
    pub events: u64,
    /// Events that are missing, because there was no room for them.
    pub lost_events: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// The findings for the file.
pub(super) fn environment() -> Vec<EnvironmentFinding> {
    HOOKS.get().map_or_else(Vec::new, |hooks| (hooks.environment)())
}

/// Nothing more is noted: the file cannot be written.
pub(super) fn give_up() {
    RECORDING.store(0, Ordering::Release);
    if let Some(hooks) = HOOKS.get() {
        (hooks.ended)();
    }
}
