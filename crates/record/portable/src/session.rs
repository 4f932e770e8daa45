//! Who uses the sampler: a recording or a profile, one at a time.

use super::state::{IS_PROFILE, PROCESS, RECORDING, give_up, is_own_process};
use super::{live, local, queue, sampler};
use heapwise_trace::sampling::distance;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

/// What it is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A recording into this file.
    File(PathBuf),
    /// A profile in memory.
    Profile,
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "the recording {}", path.display()),
            Self::Profile => f.write_str("the profile that this program makes of its heap"),
        }
    }
}

struct Current {
    number: u32,
    purpose: Purpose,
}

static CURRENT: Mutex<Option<Current>> = Mutex::new(None);

/// What is known when it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// At most so many bytes lie between two sampled blocks: a power of two.
    pub(super) sample_bytes: u64,
    /// The queue's times are since then.
    pub(super) began: Instant,
    pub(super) started_unix_ns: u64,
}

/// Refuses a forked child, without the lock, of which it has a copy that may be held for ever.
pub(super) fn may_begin() -> io::Result<()> {
    let process = PROCESS.load(Ordering::Relaxed);
    if process == 0 || process == std::process::id() {
        return Ok(());
    }
    let what = "a process that was forked from one that records itself or serves its profile can do neither";
    Err(io::Error::other(what))
}

/// Begins to note blocks, when `start` has started what empties the queue. The number of this use.
pub(super) fn begin(
    purpose: Purpose,
    sample_bytes: u64,
    start: impl FnOnce(&Begin) -> io::Result<()>,
) -> io::Result<u32> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    may_begin()?;
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(current) = current.as_ref() {
        let what = format!("{} is under way already; that has to be finished first", current.purpose);
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, what));
    }
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    let (began, started) = (Instant::now(), SystemTime::now());
    let since_1970 = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let started_unix_ns = since_1970.as_nanos() as u64;
    let begin = Begin { sample_bytes: distance(sample_bytes), began, started_unix_ns };
    local::stir(started_unix_ns);
    sampler::set(begin.sample_bytes);
    live::prepare(begin.sample_bytes);
    queue::open(began);
    queue::set_to_stop(false);
    if let Err(error) = start(&begin) {
        drop(queue::close());
        live::clear();
        PROCESS.store(0, Ordering::Relaxed);
        return Err(error);
    }
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    IS_PROFILE.store(purpose == Purpose::Profile, Ordering::Relaxed);
    RECORDING.store(number, Ordering::Release);
    *current = Some(Current { number, purpose });
    Ok(number)
}

/// Ends a use, and waits until it has come to its end. `None` if it is over, or another process's.
pub(super) fn end<T>(number: u32, wait: impl FnOnce(Purpose) -> T) -> Option<T> {
    if !is_own_process() {
        return None;
    }
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let purpose = current.take_if(|current| current.number == number)?.purpose;
    give_up();
    queue::set_to_stop(true);
    queue::wake();
    let outcome = wait(purpose);
    live::clear();
    PROCESS.store(0, Ordering::Relaxed);
    Some(outcome)
}

/// The number of the recording that is under way, unless it is just beginning or ending.
pub(super) fn recording() -> Option<u32> {
    let current = CURRENT.try_lock().ok()?;
    current.as_ref().filter(|current| current.purpose != Purpose::Profile).map(|current| current.number)
}
