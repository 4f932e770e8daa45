//! An operation: a name, and what was seen of it.

use super::metrics::{Metrics, PerIteration, Span};
use super::own::Own;
use super::{Measured, OperationReport, ProcessSpan, Scope, ThreadSpan};
use crate::Counts;
use crate::state::Use;
use crate::tally::Ignore;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What all handles of an operation share.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Box<str>,
    metrics: Mutex<Metrics>,
    /// It is counted as long as somebody can begin a span.
    _use: Use,
}

impl Entry {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.into(), metrics: Mutex::default(), _use: Use::counting() }
    }

    /// Nobody panics while he holds the lock, so what is behind it is whole.
    fn lock(&self) -> MutexGuard<'_, Metrics> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn metrics(&self) -> Metrics {
        let _ignore = Ignore::begin();
        *self.lock()
    }

    /// Changes what is known. Some systems allocate for a lock, which is nobody's business.
    pub(super) fn change(&self, change: impl FnOnce(&mut Metrics)) {
        let _ignore = Ignore::begin();
        change(&mut self.lock());
    }
}

/// A part of a program by name, such as a benchmark, of which [`Session::operation`](crate::Session::operation) makes one.
///
/// It is a handle: copies are the same operation, also on other threads, and it goes on when its session is gone.
///
/// ```
/// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
/// let session = heapwise::Session::new();
/// let operation = session.operation("to_owned");
/// {
///     let _span = operation.measure_thread().iterations(10);
///     for _ in 0..10 {
///         std::hint::black_box("twelve bytes".to_owned());
///     }
/// }
/// let mean = operation.mean().expect("a span has ended");
/// assert_eq!((mean.requests, mean.allocated_bytes), (1.0, 12.0));
/// ```
#[derive(Clone, Debug)]
pub struct Operation {
    pub(super) entry: Own<Arc<Entry>>,
}

impl Operation {
    /// Counts what this thread does until the guard is dropped.
    ///
    /// ```
    /// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("collect");
    /// let span = operation.measure_thread();
    /// let squares: Vec<u64> = (0..100).map(|n| n * n).collect();
    /// drop(span);
    /// assert_eq!(operation.total().allocated_bytes, 800);
    /// # drop(squares);
    /// ```
    pub fn measure_thread(&self) -> ThreadSpan {
        ThreadSpan::begin(self.clone())
    }

    /// Counts what all threads of the process do until the guard is dropped, whether they work for the operation or not.
    ///
    /// ```
    /// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("two threads");
    /// let span = operation.measure_process();
    /// std::thread::spawn(|| drop(vec![1u8; 1000])).join().expect("it does not panic");
    /// drop(span);
    /// // The vector, and what the standard library needs for a thread.
    /// assert!(operation.total().allocated_bytes >= 1000);
    /// ```
    pub fn measure_process(&self) -> ProcessSpan {
        ProcessSpan::begin(self.clone())
    }

    /// Counts what this thread does until the guard is dropped, and what other threads do that take part: see [`Scope`].
    ///
    /// ```
    /// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("one of two threads");
    /// let scope = operation.measure_scope();
    /// let handle = scope.handle();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| handle.run(|| drop(vec![1u8; 1 << 20])));
    ///     threads.spawn(|| drop(vec![1u8; 2 << 20]));
    /// });
    /// drop(scope);
    /// let bytes = operation.total().allocated_bytes;
    /// assert!(bytes >= 1 << 20 && bytes < 2 << 20);
    /// ```
    pub fn measure_scope(&self) -> Scope {
        Scope::begin(self.clone())
    }

    /// Wraps a future, and counts what it does while it is polled: see [`Measured`].
    ///
    /// ```
    /// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # let session = heapwise::Session::new();
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    /// let operation = session.operation("answer");
    /// # runtime.block_on(async {
    /// let answer = operation.measure(async { vec![7u8; 42].len() }).await;
    /// # assert_eq!(answer, 42);
    /// # });
    /// assert_eq!(operation.total().allocated_bytes, 42);
    /// ```
    pub fn measure<F: Future>(&self, future: F) -> Measured<F> {
        Measured::new(self.clone(), future)
    }

    /// Its name.
    ///
    /// ```
    /// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # let session = heapwise::Session::new();
    /// assert_eq!(session.operation("parse").name(), "parse");
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// What all iterations of all spans that have ended did together.
    ///
    /// ```
    /// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # let session = heapwise::Session::new();
    /// assert_eq!(session.operation("nothing yet").total().requests(), 0);
    /// ```
    #[must_use]
    pub fn total(&self) -> Counts {
        self.entry.metrics().total()
    }

    /// What one iteration does: the total by the iterations. `None` as long as no span has ended.
    ///
    /// ```
    /// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # let session = heapwise::Session::new();
    /// assert_eq!(session.operation("nothing yet").mean(), None);
    /// ```
    #[must_use]
    pub fn mean(&self) -> Option<PerIteration> {
        self.entry.metrics().mean()
    }

    /// Everything that is known of this operation at the moment.
    ///
    /// ```
    /// # #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("boxes");
    /// for _ in 0..5 {
    ///     let _span = operation.measure_thread();
    ///     drop(std::hint::black_box(Box::new([0u8; 64])));
    /// }
    /// let report = operation.report();
    /// assert_eq!((report.spans(), report.peak_live_bytes()), (5, Some(64)));
    /// ```
    #[must_use]
    pub fn report(&self) -> OperationReport {
        OperationReport::new(&self.entry.name, self.entry.metrics())
    }

    pub(super) fn add(&self, span: Span) {
        self.entry.change(|metrics| metrics.add(span));
    }

    pub(super) fn add_unfinished(&self) {
        self.entry.change(Metrics::add_unfinished);
    }

    pub(super) fn add_late(&self, guards: u64) {
        self.entry.change(|metrics| metrics.add_late(guards));
    }
}
