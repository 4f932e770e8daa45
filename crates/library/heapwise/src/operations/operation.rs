//! An operation: a name, and what was seen of it.

use super::OperationReport;
use super::metrics::{Metrics, PerIteration, Span};
use super::own::Own;
use crate::Counts;
use crate::state::Use;
use crate::tally::Ignore;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What all handles of an operation share.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Box<str>,
    metrics: Mutex<Metrics>,
    /// Counting is on as long as a span can begin.
    _use: Use,
}

impl Entry {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.into(), metrics: Mutex::default(), _use: Use::counting() }
    }

    /// No code panics while it holds the lock, so what is behind it is whole.
    fn lock(&self) -> MutexGuard<'_, Metrics> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn metrics(&self) -> Metrics {
        let _ignore = Ignore::begin();
        *self.lock()
    }

    /// Changes the metrics. Some systems allocate for a lock, which is not to be counted.
    pub(super) fn change(&self, change: impl FnOnce(&mut Metrics)) {
        let _ignore = Ignore::begin();
        change(&mut self.lock());
    }
}

/// A part of a program by name, such as a benchmark, of which [`Session::operation`](crate::Session::operation) makes one.
///
/// It is a handle: copies are the same operation, also on other threads, and it outlives its session.
///
/// ```
/// # use heapwise_installed as _;
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
    /// Its name.
    ///
    /// ```
    /// # use heapwise_installed as _;
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
    /// # use heapwise_installed as _;
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
    /// # use heapwise_installed as _;
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
    /// # use heapwise_installed as _;
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
