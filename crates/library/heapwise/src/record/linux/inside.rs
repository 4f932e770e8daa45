//! A collector in the program itself.

#![expect(unsafe_code, reason = "a function that the loader calls has to be put into a separate section")]

use super::INNER;
use crate::record::Recorded;
use crate::state;
use crate::tally::NOT_INSTALLED;
use heapwise_collector::inside::{Ended, Inside, Request};
use heapwise_portable::environment::{self, RECORD_TO};
use heapwise_recorder::wrapped::{self, NoRecordGuard};
use heapwise_trace::sampling::distance;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The recording in progress. Locked while it begins or ends.
static ACTIVE: Mutex<Option<Inside>> = Mutex::new(None);
/// The process that began it: a forked child has a copy of the recording above, perhaps locked for ever, that it must not use.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Begins a recording, of everything if no distance is said. Its number: there is only one.
pub(crate) fn start(path: &Path, sample_bytes: Option<u64>) -> io::Result<u32> {
    // The first call determines the allocator below the wrapper.
    drop(black_box(Box::new(black_box(0u8))));
    let not_installed = || io::Error::other(format!("nothing can be recorded: {NOT_INSTALLED}"));
    let &inner = INNER.get().ok_or_else(not_installed)?;
    let mut active = ACTIVE.lock().unwrap_or_else(PoisonError::into_inner);
    if wrapped::is_taken() {
        let problem =
            "this process is recorded already, or was; it can be once, by itself or by `heapwise run`";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
    }
    let request = Request {
        output: path,
        sample_bytes: sample_bytes.map_or(0, distance),
        prepare: stand_aside,
        concerns_heap: heapwise_environment::is_heap_variable,
        version: env!("CARGO_PKG_VERSION"),
    };
    let inside = Inside::begin(&request).map_err(io::Error::other)?;
    if !wrapped::join(inside.session_path().as_bytes(), inner) {
        // Nothing is in it.
        let _ = inside.finish();
        let _ = std::fs::remove_file(path);
        return Err(io::Error::other("the recorder could not reach its memory through /proc"));
    }
    wrapped::at_end(at_end);
    wait_until(|| STANDING_ASIDE.load(Ordering::Acquire) >= Inside::THREADS);
    PROCESS.store(std::process::id(), Ordering::Release);
    *active = Some(inside);
    state::set(state::RECORDING);
    Ok(1)
}

/// Threads of the collector that have begun.
static STANDING_ASIDE: AtomicUsize = AtomicUsize::new(0);

/// A thread of the collector is not recorded as one of the program.
fn stand_aside() {
    std::mem::forget(NoRecordGuard::begin());
    STANDING_ASIDE.fetch_add(1, Ordering::Release);
}

/// Waits a while: what a thread allocates before it is excluded would be recorded. Where threads do not run yet, as in a loader
/// that holds them back, that is all that is lost.
fn wait_until(done: impl Fn() -> bool) {
    const STEPS: u32 = 100;
    for _ in 0..STEPS {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Ends the recording; `None` if there is none. The collector's work is bounded, so this does not take long.
pub(crate) fn finish(_number: u32, _patience: Option<Duration>) -> Option<io::Result<Recorded>> {
    if PROCESS.load(Ordering::Acquire) != std::process::id() {
        return None;
    }
    // Locked until all is in the file, so that the process does not end before that.
    let mut active = ACTIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let inside = active.take()?;
    let _aside = NoRecordGuard::begin();
    wrapped::exit_handshake();
    state::clear(state::RECORDING);
    let ended = inside.finish().map_err(io::Error::other);
    let recorded = |ended: Ended| Recorded {
        path: ended.path,
        events: ended.events,
        lost_events: ended.lost_events,
        bytes: ended.bytes,
    };
    Some(ended.map(recorded))
}

/// A recording that was not ended ends with the process.
fn at_end() {
    if let Some(Err(error)) = finish(1, None) {
        complain(&format!("a recording is cut off: {error}"));
    }
}

/// Reports what cannot be returned as a result.
fn complain(problem: &str) {
    let line = format!("heapwise: warning: {problem}\n");
    // Without a standard error it cannot be reported.
    let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
}

/// Runs when the program is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = {
    extern "C" fn begin() {
        let Some(wanted) = environment::wanted().filter(|_| wrapped::may_trust_environment()) else { return };
        if let Err(error) = wanted.sample_bytes.and_then(|bytes| start(&wanted.path, bytes)) {
            complain(&format!("{RECORD_TO}: {error}"));
        }
    }
    begin
};
