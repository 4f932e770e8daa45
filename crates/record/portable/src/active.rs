//! Whether this process records itself, and how that begins and ends.

use super::environment::{self, RECORD_TO};
use super::session::{self, Begin, Purpose};
use super::state::{HOOKS, Hooks, INNER, IS_EXITING, Written, give_up, is_own_process};
use super::writer::{self, Job};
use super::{events, file, local, own, system};
use heapwise_trace::sampling::DEFAULT_SAMPLE_BYTES;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// How long the end of the process waits for the file to be complete.
const PATIENCE_AT_EXIT: Duration = Duration::from_secs(30);

static OUTCOME: Mutex<Writer> = Mutex::new(Writer::Starting);
static HAS_NEWS: Condvar = Condvar::new();

/// State of the writer's thread.
enum Writer {
    Starting,
    AtWork,
    Done(io::Result<Written>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first call of the process: begins to record if the environment requests it. Returns whether it does. `inner` is
/// the name of the inner allocator's type.
#[cold]
pub fn begin_if_wanted(inner: &'static str, hooks: &'static Hooks) -> bool {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let Some(_busy) = local::Busy::enter() else { return false };
    if ASKED.swap(true, Ordering::AcqRel) {
        return false;
    }
    let _ = INNER.set(inner);
    let _ = HOOKS.set(hooks);
    let Some(wanted) = environment::wanted().filter(|_| system::may_trust_environment()) else {
        return false;
    };
    let every = wanted.sample_bytes.map(|bytes| bytes.unwrap_or(DEFAULT_SAMPLE_BYTES));
    // Windows' loader may block the new thread, so it is not waited for.
    let begun = every.and_then(|every| begin(&wanted.path, every, false));
    if let Err(error) = &begun {
        complain(&format!("{RECORD_TO}: {error}"));
    }
    begun.is_ok()
}

/// Writes to standard error: no caller could take an error.
fn complain(what: &str) {
    let _ = io::stderr().write_all(format!("heapwise: warning: {what}\n").as_bytes());
}

/// Begins to record, with at most so many bytes between two recorded blocks on average; `begun` is called when it has. The
/// number of the recording.
///
/// # Errors
/// The file exists or cannot be created, or a recording of this program is under way.
pub fn start(path: &Path, sample_bytes: u64, hooks: &'static Hooks, begun: impl FnOnce()) -> io::Result<u32> {
    // What the caller does then is not noted either.
    let _busy = local::Busy::enter();
    let _ = HOOKS.set(hooks);
    let number = begin(path, sample_bytes, true)?;
    begun();
    Ok(number)
}

fn begin(path: &Path, sample_bytes: u64, may_wait: bool) -> io::Result<u32> {
    let block = Box::new(0u8);
    if !events::is_in_the_format(std::ptr::from_ref(&*block).addr()) {
        let why = "blocks of this system are at addresses of 48 bits, and the format of recordings has 47; \
            a profile is possible: heapwise::serve";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let number = session::begin(Purpose::File(path.to_owned()), sample_bytes, |begin| {
        let file = file::create(path)?;
        let &Begin { sample_bytes, began, started_unix_ns } = begin;
        start_writer(Job { file, path: path.to_owned(), sample_bytes, began, started_unix_ns }, may_wait)
            .map_err(|error| {
                // Nothing is in it.
                let _ = std::fs::remove_file(path);
                io::Error::new(error.kind(), format!("cannot begin to record: {error}"))
            })
    })?;
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| system::at_exit(at_exit));
    Ok(number)
}

fn start_writer(job: Job, may_wait: bool) -> io::Result<()> {
    *lock(&OUTCOME) = Writer::Starting;
    own::spawn("heapwise-record", move || {
        let mut last = Last(Err(io::Error::other("the thread that writes the recording has panicked")));
        last.0 = writer::run(job, || tell(Writer::AtWork));
    })?;
    if may_wait {
        let is_starting = |writer: &mut Writer| matches!(writer, Writer::Starting);
        let news = HAS_NEWS.wait_while(lock(&OUTCOME), is_starting);
        let mut news = news.unwrap_or_else(PoisonError::into_inner);
        if matches!(*news, Writer::Done(_))
            && let Writer::Done(Err(error)) = std::mem::replace(&mut *news, Writer::Starting)
        {
            return Err(error);
        }
    }
    Ok(())
}

/// Reports the outcome when dropped, on every way out of the thread.
struct Last(io::Result<Written>);

impl Drop for Last {
    fn drop(&mut self) {
        // An event that is noted from here on would wait for a writer that is gone.
        give_up();
        let outcome = std::mem::replace(&mut self.0, Err(io::Error::other("")));
        tell(Writer::Done(outcome));
    }
}

fn tell(news: Writer) {
    *lock(&OUTCOME) = news;
    HAS_NEWS.notify_all();
}

/// Ends a recording and waits until it is written, at most for `patience`. `None` if it is over, or another process's.
///
/// # Errors
/// The file could not be written, or not in time.
pub fn finish(recording: u32, patience: Option<Duration>) -> Option<io::Result<Written>> {
    let _busy = local::Busy::enter();
    session::end(recording, |purpose| {
        let is_at_work = |writer: &mut Writer| !matches!(writer, Writer::Done(_));
        let mut outcome = match patience {
            None => HAS_NEWS.wait_while(lock(&OUTCOME), is_at_work).unwrap_or_else(PoisonError::into_inner),
            Some(patience) => {
                let waited = HAS_NEWS.wait_timeout_while(lock(&OUTCOME), patience, is_at_work);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        let outcome = match std::mem::replace(&mut *outcome, Writer::Starting) {
            Writer::Done(outcome) => outcome,
            Writer::Starting | Writer::AtWork => Err(io::ErrorKind::TimedOut.into()),
        };
        outcome.map_err(|error| {
            let what = "every whole section before that can be read";
            io::Error::new(error.kind(), format!("{purpose} is cut off: {error}; {what}"))
        })
    })
}

/// The process ends: so does the recording.
extern "C" fn at_exit() {
    if !is_own_process() {
        return;
    }
    IS_EXITING.store(true, Ordering::Release);
    // The thread that exits may be in the middle of beginning or ending.
    if let Some(Err(error)) =
        session::recording().and_then(|recording| finish(recording, Some(PATIENCE_AT_EXIT)))
    {
        let _busy = local::Busy::enter();
        complain(&error.to_string());
    }
}
