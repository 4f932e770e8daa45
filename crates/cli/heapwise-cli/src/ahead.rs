//! The analysis of a recording while it is written, where a processor has nothing else to do: the report stands soon after the end.

use crate::growing::{Growing, Next, Stream};
use crate::report;
use heapwise_analysis::{self as analysis, Options, Unnamed, Warning};
use heapwise_collector::{Recorded, run_when_idle};
use heapwise_trace::file::Reader;
use std::fs::File;
use std::io::BufReader;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

/// A pause where there is nothing to read.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the section at hand is waited for, if the machine has no time for it: no longer than all takes that is to be read, and no
/// longer than this. Then all is read once more.
const MOST_PATIENCE: Duration = Duration::from_secs(2);
const LEAST_PATIENCE: Duration = Duration::from_millis(20);
const NS_PER_EVENT: u64 = 100;
/// The part of the memory that an analysis may take. The program is still there, and may want it.
const SHARE: u64 = 4;

type Reading = analysis::Ahead<BufReader<Stream>>;

/// The thread that reads ahead.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// Dropped when recording is over.
    goes_on: Sender<()>,
    /// Locked while a section is read. None before there is anything, and when it was taken or leads to nothing.
    reading: Arc<Mutex<Option<Reading>>>,
}

impl Ahead {
    /// Waits for a file, which is to be sent. `None` if there can be no thread, or what it takes would be the program's: a recording can
    /// be read later.
    pub(crate) fn begin() -> Option<(Self, Sender<File>)> {
        if has_quota() {
            return None;
        }
        let ((sender, file), (goes_on, end)) = (channel(), channel());
        let reading = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&reading);
        let work = move || {
            run_when_idle();
            if let Ok(file) = file.recv() {
                // Whatever it ends with, the recording is read later.
                let _ = follow(file, &shared, &end);
            }
        };
        std::thread::Builder::new().name("ahead".into()).spawn(work).ok()?;
        Some((Self { goes_on, reading }, sender))
    }

    /// What was recorded. `None` if it has to be read from its beginning.
    pub(crate) fn finish(self, recorded: &Recorded) -> Option<anyhow::Result<Unnamed>> {
        let Self { goes_on, reading } = self;
        drop(goes_on);
        // A file that could not be written to its end was cut, and may be shorter than what was read of it.
        if recorded.error.is_some() {
            return None;
        }
        let whole = Duration::from_nanos(recorded.events.saturating_mul(NS_PER_EVENT));
        let reading = take(&reading, whole.clamp(LEAST_PATIENCE, MOST_PATIENCE))?;
        let read = report::finish(reading, &recorded.file, &recorded.path);
        // It had a part of the memory only, which may have been too little for the rest.
        let is_cut = |read: &Unnamed| read.warnings().iter().any(Warning::is_for_lack_of_memory);
        (!read.as_ref().is_ok_and(is_cut)).then_some(read)
    }
}

/// Whether processor time that a thread takes elsewhere is missing for the others of its group.
fn has_quota() -> bool {
    let allowed = std::thread::available_parallelism().map_or(1, NonZero::get);
    let there = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count() as usize);
    allowed < there
}

/// Takes what was read as soon as it is not locked, if that is soon enough.
fn take(reading: &Mutex<Option<Reading>>, patience: Duration) -> Option<Reading> {
    const STEP: Duration = Duration::from_micros(200);
    let began = Instant::now();
    loop {
        match reading.try_lock() {
            Ok(mut reading) => return reading.take(),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => std::thread::sleep(STEP),
            Err(_) => return None,
        }
    }
}

/// Reads sections as they come, until the `end`. `None` if that leads to nothing.
fn follow(file: File, reading: &Mutex<Option<Reading>>, end: &Receiver<()>) -> Option<()> {
    let file = Growing::of(file);
    let is_over = |pause| end.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected);
    while file.header().ok()? != Next::Section {
        if is_over(PAUSE) {
            return None;
        }
    }
    let mut options = Options::default();
    options.memory = report::memory().map(|bytes| bytes / SHARE);
    let reader = Reader::new(BufReader::with_capacity(1 << 20, file.stream())).ok()?;
    let mut pause = Duration::ZERO;
    *reading.lock().ok()? = Some(Reading::new(reader, &options));
    while !is_over(pause) {
        let mut reading = reading.lock().ok()?;
        let at = reading.as_mut()?;
        let has_more = file.next(at.offset()).ok()? == Next::Section;
        pause = if has_more { Duration::ZERO } else { PAUSE };
        if has_more && !at.step().is_ok_and(|goes_on| goes_on) {
            *reading = None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const WHOLE: &[u8] = include_bytes!("../../../record/trace/tests/golden/v3.0.hw");

    /// Reads a file that is cut after so many bytes, and returns how far that came.
    fn read(bytes: usize) -> Option<u64> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&WHOLE[..bytes]).expect("the disk has room");
        let reading = Mutex::new(None);
        let (goes_on, end) = channel();
        std::thread::scope(|scope| {
            let shared = &reading;
            let thread = scope.spawn(move || follow(file, shared, &end));
            std::thread::sleep(PAUSE * 2);
            drop(goes_on);
            thread.join().expect("no panic");
        });
        take(&reading, Duration::ZERO).map(|reading| reading.offset())
    }

    #[test]
    fn whole_sections_are_read_and_parts_of_them_wait() {
        let all = WHOLE.len() as u64;
        assert_eq!(read(WHOLE.len()), Some(all));
        let cut = read(WHOLE.len() - 1).expect("those before are there");
        assert!(cut > 16 && cut < all, "{cut}");
        assert_eq!(read(16), Some(16), "the header alone");
        assert_eq!(read(9), None, "less than that");
    }

    #[test]
    fn what_is_locked_is_not_waited_for_without_end() {
        let reading = Mutex::new(None);
        let locked = reading.lock().expect("no panic");
        assert!(take(&reading, Duration::from_millis(5)).is_none());
        drop(locked);
    }
}
