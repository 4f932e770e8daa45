//! Work of several threads under one budget.

use super::watch::{Inside, Watch};
use std::fmt;

/// The scope of [`Budget::check_scope`](super::Budget::check_scope): each other thread that does a part of the work needs a
/// handle of it.
///
/// ```
/// # use heapwise_installed as _;
/// use heapwise::budget::{Budget, Scope};
///
/// fn parallel_sum(numbers: &[u64], scope: &Scope) -> u64 {
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let handle = scope.handle();
///     std::thread::scope(|threads| {
///         let left = threads.spawn(move || handle.run(|| left.iter().sum::<u64>()));
///         right.iter().sum::<u64>() + left.join().expect("it does not panic")
///     })
/// }
///
/// let few = Budget::new().bytes(64 << 10); // a thread takes a little
/// assert_eq!(few.assert_scope(|scope| parallel_sum(&[1, 2, 3], scope)), 6);
/// ```
pub struct Scope {
    watch: Watch,
}

impl Scope {
    #[track_caller]
    pub(super) fn new() -> Self {
        Self { watch: Watch::new() }
    }

    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(super) fn into_watch(self) -> Watch {
        self.watch
    }

    /// A handle, to be given to another thread.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// use heapwise::budget::Budget;
    ///
    /// let numbers = Budget::new().bytes(64 << 10).assert_scope(|scope| {
    ///     let handle = scope.handle();
    ///     std::thread::spawn(move || handle.run(|| vec![1, 2, 3])).join()
    /// });
    /// assert_eq!(numbers.expect("it does not panic"), [1, 2, 3]);
    /// ```
    #[must_use]
    pub fn handle(&self) -> ScopeHandle {
        ScopeHandle { watch: self.watch.clone() }
    }
}

/// With this, another thread does a part of the work under a budget. Clones are equivalent.
///
/// ```
/// # use heapwise_installed as _;
/// # let budget = heapwise::budget::Budget::new();
/// budget.assert_scope(|scope| {
///     let handles = vec![scope.handle(); 4];
///     std::thread::scope(|threads| {
///         for handle in handles {
///             threads.spawn(move || handle.run(|| vec![1, 2, 3]));
///         }
///     });
/// });
/// ```
#[derive(Clone)]
pub struct ScopeHandle {
    watch: Watch,
}

impl ScopeHandle {
    /// Until the guard is dropped, what this thread does belongs to the scope. A thread that is inside already is not counted
    /// twice. What a thread does after the closure of the scope has returned is not judged.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// let exceeded = heapwise::budget::Budget::new().allocations(0).check_scope(|scope| {
    ///     let handle = scope.handle();
    ///     std::thread::scope(|threads| {
    ///         threads.spawn(move || {
    ///             let _guard = handle.enter();
    ///             drop(Box::new(1));
    ///         });
    ///     });
    /// });
    /// assert!(exceeded.is_err());
    /// ```
    #[must_use = "what happens after the guard is dropped is not counted"]
    pub fn enter(&self) -> ScopeGuard {
        ScopeGuard { _inside: self.watch.enter(0) }
    }

    /// Runs a closure inside of the scope.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// let sum = heapwise::budget::Budget::new().allocations(0).assert_scope(|scope| {
    ///     scope.handle().run(|| 1 + 1)
    /// });
    /// assert_eq!(sum, 2);
    /// ```
    pub fn run<T>(&self, closure: impl FnOnce() -> T) -> T {
        let _guard = self.enter();
        closure()
    }
}

/// A thread is inside of a scope as long as this lives. It stays on its thread.
///
/// ```
/// # use heapwise_installed as _;
/// // What it takes to start a thread is this thread's.
/// heapwise::budget::Budget::new().bytes(4096).assert_scope(|scope| {
///     let handle = scope.handle();
///     std::thread::spawn(move || {
///         let kept = vec![1, 2, 3]; // is not counted
///         let _guard = handle.enter();
///         kept.iter().sum::<i32>()
///     })
///     .join()
/// });
/// ```
#[must_use = "what happens after the guard is dropped is not counted"]
pub struct ScopeGuard {
    _inside: Inside,
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeHandle").finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeGuard").finish_non_exhaustive()
    }
}
