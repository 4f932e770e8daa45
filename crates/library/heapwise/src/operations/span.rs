//! Guards for what a thread does, and for what a process does.

use super::Operation;
use super::metrics::Span;
use crate::Counts;
use crate::tally::{self, ProcessPeak, ThreadPeak};
use std::marker::PhantomData;

/// What all guards have: the operation of their span, and how it ends.
#[derive(Debug)]
pub(super) struct Ending {
    operation: Operation,
    iterations: u64,
    /// Whether the thread was panicking already when the span began: a span in a destructor that runs during a panic is valid.
    was_panicking: bool,
}

impl Ending {
    pub(super) fn new(operation: Operation) -> Self {
        Self { operation, iterations: 1, was_panicking: std::thread::panicking() }
    }

    pub(super) fn set_iterations(&mut self, iterations: u64) {
        self.iterations = iterations;
    }

    pub(super) fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Adds the span to its operation, unless a panic has ended it.
    pub(super) fn end(&self, counts: Counts, peak: Option<u64>) {
        match std::thread::panicking() && !self.was_panicking {
            true => self.operation.add_unfinished(),
            false => self.operation.add(Span { iterations: self.iterations, counts, peak }),
        }
    }
}

/// Counts what its own thread does until it is dropped. [`Operation::measure_thread`] makes one.
///
/// It stays on its thread:
///
/// ```compile_fail,E0277
/// # fn example(operation: heapwise::Operation) {
/// let span = operation.measure_thread();
/// std::thread::spawn(move || drop(span));
/// # }
/// ```
///
/// The peak is that of the bytes that this thread has allocated and not freed, above what they were at the begin. Up to 32 spans
/// of a thread at a time have separate peaks; further ones, or as many that were leaked, may report one that is too high.
#[derive(Debug)]
#[must_use = "a span ends when it is dropped, which is at once if it is not kept"]
pub struct ThreadSpan {
    ending: Ending,
    peak: Option<ThreadPeak>,
    before: Counts,
    on_this_thread: PhantomData<*const ()>,
}

impl ThreadSpan {
    pub(super) fn begin(operation: Operation) -> Self {
        let ending = Ending::new(operation);
        let peak = Some(ThreadPeak::begin());
        Self { ending, peak, before: tally::thread(), on_this_thread: PhantomData }
    }

    /// States how many iterations of the work this span covers, at its begin or at its end. Zero means that the work could not be
    /// done: the span is then unfinished.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("drain");
    /// let span = operation.measure_thread();
    /// let mut drained = 0;
    /// for word in ["one", "two", "three"] {
    ///     std::hint::black_box(word.to_owned());
    ///     drained += 1;
    /// }
    /// drop(span.iterations(drained));
    /// assert_eq!(operation.report().iterations(), 3);
    /// ```
    pub fn iterations(mut self, iterations: u64) -> Self {
        self.ending.set_iterations(iterations);
        self
    }
}

impl Drop for ThreadSpan {
    fn drop(&mut self) {
        let counts = tally::thread() - self.before;
        self.ending.end(counts, self.peak.take().map(ThreadPeak::end));
    }
}

/// Counts what all threads do until it is dropped, on the thread where it began. [`Operation::measure_process`] makes one.
///
/// A thread that is allocating when it begins or ends may have counted a part of a call. The peak is exact if no other thread
/// allocated meanwhile; otherwise it is exact to 64 KiB for each thread, since sharing each allocation between threads would slow
/// them down.
#[derive(Debug)]
#[must_use = "a span ends when it is dropped, which is at once if it is not kept"]
pub struct ProcessSpan {
    ending: Ending,
    watch: Option<ProcessWatch>,
}

impl ProcessSpan {
    pub(super) fn begin(operation: Operation) -> Self {
        let ending = Ending::new(operation);
        Self { ending, watch: Some(ProcessWatch::begin()) }
    }

    /// States how many iterations of the work this span covers, as [`ThreadSpan::iterations`] does.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("drain");
    /// drop(operation.measure_process().iterations(3));
    /// assert_eq!(operation.report().iterations(), 3);
    /// ```
    pub fn iterations(mut self, iterations: u64) -> Self {
        self.ending.set_iterations(iterations);
        self
    }
}

impl Drop for ProcessSpan {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            let (counts, peak) = watch.end();
            self.ending.end(counts, Some(peak));
        }
    }
}

/// What the process does between two moments, as seen from one thread.
#[derive(Debug)]
pub(crate) struct ProcessWatch {
    process_peak: ProcessPeak,
    thread_peak: ThreadPeak,
    thread_before: Counts,
    before: Counts,
    on_this_thread: PhantomData<*const ()>,
}

impl ProcessWatch {
    pub(crate) fn begin() -> Self {
        let process_peak = ProcessPeak::begin();
        let thread_peak = ThreadPeak::begin();
        Self {
            process_peak,
            thread_peak,
            thread_before: tally::thread(),
            before: tally::process(),
            on_this_thread: PhantomData,
        }
    }

    /// What was done, and the peak.
    pub(crate) fn end(self) -> (Counts, u64) {
        let counts = tally::process() - self.before;
        let alone = counts == tally::thread() - self.thread_before;
        let (thread, process) = (self.thread_peak.end(), self.process_peak.end());
        // The level at the end is known to the byte, and is no higher than the peak.
        let at_the_end = counts.net_bytes().max(0).unsigned_abs();
        // What one thread alone did, that thread knows exactly.
        (counts, if alone { thread } else { process.max(at_the_end) })
    }
}
