//! The ways to begin a span of an operation.

use super::{Measured, Operation, ProcessSpan, Scope, ThreadSpan};

impl Operation {
    /// Counts what this thread does until the guard is dropped.
    ///
    /// ```
    /// # use heapwise_installed as _;
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
    /// # use heapwise_installed as _;
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
    /// # use heapwise_installed as _;
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
    /// # use heapwise_installed as _;
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
}
