//! A future that is counted while it is polled.

use super::Operation;
use super::metrics::Span;
use crate::Counts;
use crate::tally::{self, ThreadPeak};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A future that counts what it does while it is polled, and nothing of what its threads do in between.
    /// [`Operation::measure`] makes one, which is one span.
    ///
    /// A task of an asynchronous program shares its thread with others, and may continue on another thread after each `await`, so
    /// neither the counters of a thread nor those of the process are the task's alone. Work that the runtime does elsewhere for
    /// it, such as a task that it spawns, is not counted with it; that needs a separate `Measured`, of the same operation or
    /// another.
    ///
    /// The span ends when the future is ready. What the future owned is dropped right then, as a part of the span. A future that
    /// is dropped earlier leaves an unfinished span.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// # let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
    /// let operation = session.operation("request");
    /// # runtime.block_on(async {
    /// let request = operation.measure(async {
    ///     let body = vec![0u8; 1000];
    ///     tokio::task::yield_now().await;
    ///     body.len()
    /// });
    /// assert_eq!(tokio::spawn(request).await.expect("it does not panic"), 1000);
    /// # });
    /// let report = operation.report();
    /// // The body, and what tokio needs for a task that lets others go first.
    /// assert!(report.total().allocated_bytes >= 1000 && report.total().freed_bytes >= 1000);
    /// assert!(report.peak_live_bytes() >= Some(1000));
    /// ```
    #[must_use = "a future does nothing unless it is polled"]
    #[derive(Debug)]
    pub struct Measured<F> {
        // `None` when it was ready.
        #[pin]
        future: Option<F>,
        account: Account,
    }
}

impl<F: Future> Measured<F> {
    pub(super) fn new(operation: Operation, future: F) -> Self {
        let account =
            Account { operation, iterations: 1, counts: Counts::default(), peak: 0, is_finished: false };
        Self { future: Some(future), account }
    }

    /// States how many iterations of the work this future is, as [`ThreadSpan::iterations`](crate::ThreadSpan::iterations) does.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    /// # let operation = session.operation("three");
    /// # runtime.block_on(async {
    /// operation.measure(async { vec![1u8; 30] }).iterations(3).await;
    /// # });
    /// assert_eq!(operation.mean().expect("it is ready").allocated_bytes, 10.0);
    /// ```
    pub fn iterations(mut self, iterations: u64) -> Self {
        self.account.iterations = iterations;
        self
    }
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    /// # Panics
    ///
    /// When it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let future = this.future.as_mut().as_pin_mut().expect("`Measured` was polled after it was ready");
        let visit = Visit::begin(this.account);
        let polled = future.poll(context);
        if polled.is_ready() {
            this.future.set(None);
        }
        drop(visit);
        if polled.is_ready() {
            this.account.finish();
        }
        polled
    }
}

/// What a future has done so far.
#[derive(Debug)]
struct Account {
    operation: Operation,
    iterations: u64,
    counts: Counts,
    /// The highest level of its allocated and not yet freed bytes while it was polled.
    peak: u64,
    is_finished: bool,
}

impl Account {
    fn finish(&mut self) {
        self.is_finished = true;
        self.operation.add(Span { iterations: self.iterations, counts: self.counts, peak: Some(self.peak) });
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if !self.is_finished {
            self.operation.add_unfinished();
        }
    }
}

/// One poll. It also ends when the future panics: the watch of the peak has to end.
struct Visit<'account> {
    account: &'account mut Account,
    peak: Option<ThreadPeak>,
    before: Counts,
}

impl<'account> Visit<'account> {
    fn begin(account: &'account mut Account) -> Self {
        let peak = Some(ThreadPeak::begin());
        Self { account, peak, before: tally::thread() }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let counts = tally::thread() - self.before;
        let peak = self.peak.take().map_or(0, ThreadPeak::end);
        // What it kept from earlier polls is there, too, while it is polled.
        let level = self.account.counts.net_bytes().saturating_add_unsigned(peak);
        self.account.peak = self.account.peak.max(level.max(0).unsigned_abs());
        self.account.counts += counts;
    }
}
