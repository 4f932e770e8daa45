//! Work that one thread hands out to others.
//!
//! A thread that takes part has an entry in its own list, with the reading of its counters when it entered. Guards of one scope
//! on one thread share an entry, or work would be counted twice: a rayon worker that waits in one job runs another one of the
//! same scope meanwhile, and the thread that made the scope may be a worker itself.

use super::Operation;
use super::own::Own;
use super::span::Ending;
use crate::Counts;
use crate::tally::{self, Ignore, ThreadPeak};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the threads of a scope have in common.
#[derive(Debug)]
struct Shared {
    /// One number for each scope of the process.
    id: u64,
    operation: Operation,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What the threads did that have left.
    counts: Counts,
    /// Threads that are inside.
    inside: u64,
    has_ended: bool,
    /// Whether another thread than the one that made it was ever in.
    had_others: bool,
}

/// A thread in a scope.
struct Entry {
    scope: u64,
    /// Guards that are alive.
    guards: u64,
    before: Counts,
}

thread_local! {
    static ENTRIES: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

static LAST_ID: AtomicU64 = AtomicU64::new(0);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This thread enters. Returns whether it is counted.
    fn enter(&self, is_other: bool) -> bool {
        let entered = ENTRIES.try_with(|entries| {
            let mut entries = entries.borrow_mut();
            if let Some(entry) = entries.iter_mut().find(|entry| entry.scope == self.id) {
                entry.guards += 1;
                return true;
            }
            {
                let _ignore = Ignore::begin();
                let mut state = self.lock();
                if state.has_ended {
                    return false;
                }
                state.inside += 1;
                state.had_others |= is_other;
                entries.reserve(1);
            }
            entries.push(Entry { scope: self.id, guards: 1, before: tally::thread() });
            true
        });
        entered.unwrap_or(false)
    }

    /// One guard of this thread is gone, or all of them. If it was the last one, what the thread did is added to the scope.
    fn leave(&self, all: bool) {
        let now = tally::thread();
        let left = ENTRIES.try_with(|entries| {
            let mut entries = entries.borrow_mut();
            let at = entries.iter().position(|entry| entry.scope == self.id)?;
            entries[at].guards -= 1;
            if entries[at].guards > 0 && !all {
                return None;
            }
            let entry = entries.swap_remove(at);
            if entries.is_empty() {
                // Otherwise the list would be freed at the thread's end, where that would be counted.
                let _ignore = Ignore::begin();
                *entries = Vec::new();
            }
            Some(now - entry.before)
        });
        if let Ok(Some(counts)) = left {
            let _ignore = Ignore::begin();
            let mut state = self.lock();
            if !state.has_ended {
                state.inside -= 1;
                state.counts += counts;
            }
        }
    }
}

/// Counts what its own thread does until it is dropped, and what other threads do that enter by a [`ScopeHandle`].
/// [`Operation::measure_scope`] makes one, which is one span.
///
/// With rayon, each job enters the scope on whatever thread it runs:
///
/// ```
/// # use heapwise_installed as _;
/// # let session = heapwise::Session::new();
/// use rayon::prelude::*;
///
/// let operation = session.operation("squares");
/// let scope = operation.measure_scope();
/// let handle = scope.handle();
/// (0..100u64).into_par_iter().for_each(|n| {
///     handle.run(|| drop(std::hint::black_box(vec![n; 125])));
/// });
/// drop(scope);
/// assert!(operation.total().allocated_bytes >= 100 * 1000);
/// ```
///
/// What a worker did arrives when its guard is dropped. A guard that outlives its scope comes too late: the span has ended
/// without it, and [`OperationReport::late_guards`](crate::OperationReport::late_guards) says that something is missing. So end
/// the work before the scope, as rayon's and the standard library's scopes see to.
///
/// The peak is known as long as no other thread has entered: where threads free each other's blocks, the peaks of single threads
/// are meaningless. [`Operation::measure_process`] has one.
#[derive(Debug)]
#[must_use = "a scope ends when it is dropped, which is at once if it is not kept"]
pub struct Scope {
    ending: Ending,
    shared: Own<Arc<Shared>>,
    peak: Option<ThreadPeak>,
    on_this_thread: PhantomData<*const ()>,
}

impl Scope {
    pub(super) fn begin(operation: Operation) -> Self {
        let shared = Own::make(|| {
            Arc::new(Shared {
                id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
                operation: operation.clone(),
                state: Mutex::default(),
            })
        });
        let ending = Ending::new(operation);
        let peak = Some(ThreadPeak::begin());
        if !shared.enter(false) {
            // At the very end of a thread its list no longer exists.
            ending.operation().add_late(1);
        }
        Self { ending, shared, peak, on_this_thread: PhantomData }
    }

    /// A handle for other threads. Copies are equivalent.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let scope = session.operation("threads").measure_scope();
    /// let handle = scope.handle();
    /// std::thread::spawn(move || handle.run(|| drop(vec![0u8; 10]))).join().expect("it does not panic");
    /// ```
    pub fn handle(&self) -> ScopeHandle {
        ScopeHandle { shared: self.shared.clone() }
    }

    /// States how many iterations of the work this span covers, as [`ThreadSpan::iterations`](crate::ThreadSpan::iterations)
    /// does.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// # let operation = session.operation("threads");
    /// drop(operation.measure_scope().iterations(8));
    /// assert_eq!(operation.report().iterations(), 8);
    /// ```
    pub fn iterations(mut self, iterations: u64) -> Self {
        self.ending.set_iterations(iterations);
        self
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.shared.leave(true);
        let peak = self.peak.take().map(ThreadPeak::end);
        let (counts, missing, had_others) = {
            let _ignore = Ignore::begin();
            let mut state = self.shared.lock();
            state.has_ended = true;
            (state.counts, state.inside, state.had_others)
        };
        if missing > 0 {
            self.ending.operation().add_late(missing);
        }
        self.ending.end(counts, peak.filter(|_| !had_others));
    }
}

/// With this, threads take part in a [`Scope`]. It may be copied and sent to any thread.
///
/// ```
/// # use heapwise_installed as _;
/// # let session = heapwise::Session::new();
/// let operation = session.operation("three workers");
/// let scope = operation.measure_scope();
/// let workers: Vec<_> = (0..3)
///     .map(|_| {
///         let handle = scope.handle();
///         std::thread::spawn(move || handle.run(|| drop(vec![0u8; 1 << 20])))
///     })
///     .collect();
/// for worker in workers {
///     worker.join().expect("it does not panic");
/// }
/// drop(scope);
/// assert!(operation.total().allocated_bytes >= 3 << 20);
/// ```
#[derive(Clone, Debug)]
pub struct ScopeHandle {
    shared: Own<Arc<Shared>>,
}

impl ScopeHandle {
    /// Counts what this thread does for the scope until the guard is dropped. A thread may have several guards of a scope at a
    /// time, dropped in any order; it is inside as long as it has one.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let scope = session.operation("work").measure_scope();
    /// let handle = scope.handle();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| {
    ///         let _inside = handle.enter();
    ///         drop(vec![0u8; 100]);
    ///     });
    /// });
    /// ```
    pub fn enter(&self) -> ScopeGuard {
        let is_inside = self.shared.enter(true);
        if !is_inside {
            self.shared.operation.add_late(1);
        }
        ScopeGuard { shared: self.shared.clone(), is_inside, on_this_thread: PhantomData }
    }

    /// Calls a function within a guard, and returns what it returns.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let scope = session.operation("work").measure_scope();
    /// let handle = scope.handle();
    /// let length = std::thread::spawn(move || handle.run(|| "abc".repeat(5).len()));
    /// assert_eq!(length.join().expect("it does not panic"), 15);
    /// ```
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _inside = self.enter();
        work()
    }
}

/// A thread takes part in a [`Scope`] as long as it has one. [`ScopeHandle::enter`] makes one.
///
/// It stays on its thread, and must not outlive the scope: see [`Scope`].
///
/// ```compile_fail,E0277
/// # fn example(handle: heapwise::ScopeHandle) {
/// let inside = handle.enter();
/// std::thread::spawn(move || drop(inside));
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a thread is in a scope until the guard is dropped, which is at once if it is not kept"]
pub struct ScopeGuard {
    shared: Own<Arc<Shared>>,
    /// False if it came when the scope had ended.
    is_inside: bool,
    on_this_thread: PhantomData<*const ()>,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        if self.is_inside {
            self.shared.leave(false);
        }
    }
}
