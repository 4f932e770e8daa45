//! What a budget applies to: closures, scopes of several threads, futures.

use super::exceeded::Exceeded;
use super::limits::{Budget, Limit};
use super::scope::Scope;
use super::watch::Watch;
use std::panic::Location;

impl Budget {
    /// Runs a closure, and returns what it returns if it kept to the budget.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// let exceeded = heapwise::budget::Budget::new().allocations(0).check(|| Box::new(1)).unwrap_err();
    /// assert_eq!(exceeded.requests(), 1);
    /// ```
    ///
    /// # Errors
    /// If it did not keep to it.
    ///
    /// # Panics
    /// If [`Allocator`](crate::Allocator) is not the global allocator of the program, since nothing can be counted then.
    #[track_caller]
    pub fn check<T>(&self, closure: impl FnOnce() -> T) -> Result<T, Exceeded> {
        let location = Location::caller();
        let watch = Watch::new();
        let value = call(&watch, closure);
        self.judge(watch, location).map(|()| value)
    }

    /// As [`check`](Budget::check), but panics with the message.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// let numbers = heapwise::budget::Budget::new().allocations(1).assert(|| vec![1, 2, 3]);
    /// assert_eq!(numbers.len(), 3);
    /// ```
    ///
    /// # Panics
    /// If the closure did not keep to the budget, and where [`check`](Budget::check) does.
    #[track_caller]
    pub fn assert<T>(&self, closure: impl FnOnce() -> T) -> T {
        match self.check(closure) {
            Ok(value) => value,
            Err(exceeded) => panic!("{exceeded}"),
        }
    }

    /// Runs a closure whose work is done by several threads: this one, and those that enter the scope that it gets.
    ///
    /// Threads have to have left the scope when the closure returns: what they did is known then.
    ///
    /// The peak is that of all of them together. It may be too high by what one thread has freed after its last request, while
    /// another allocates more.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// use heapwise::budget::Budget;
    ///
    /// let exceeded = Budget::new().bytes(2999).check_scope(|scope| {
    ///     let handle = scope.handle();
    ///     let worker = std::thread::spawn(move || handle.run(|| vec![0u8; 3000]));
    ///     worker.join().expect("it does not panic")
    /// });
    /// assert!(exceeded.unwrap_err().bytes() >= 3000); // and what it takes to start a thread
    /// ```
    ///
    /// # Errors
    /// If they did not keep to the budget.
    ///
    /// # Panics
    /// As [`check`](Budget::check), and if a thread is still in the scope when the closure returns.
    #[track_caller]
    pub fn check_scope<T>(&self, closure: impl FnOnce(&Scope) -> T) -> Result<T, Exceeded> {
        let location = Location::caller();
        let scope = Scope::new();
        let value = call(scope.watch(), || closure(&scope));
        let inside = scope.watch().threads_inside();
        assert!(
            inside == 0,
            "a budget cannot be judged: {inside} thread(s) are still in its scope; wait for them before the closure returns"
        );
        self.judge(scope.into_watch(), location).map(|()| value)
    }

    /// As [`check_scope`](Budget::check_scope), but panics with the message.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// heapwise::budget::Budget::new().allocations(0).assert_scope(|scope| scope.handle().run(|| 1 + 1));
    /// ```
    ///
    /// # Panics
    /// If they did not keep to the budget, and where [`check`](Budget::check) does.
    #[track_caller]
    pub fn assert_scope<T>(&self, closure: impl FnOnce(&Scope) -> T) -> T {
        match self.check_scope(closure) {
            Ok(value) => value,
            Err(exceeded) => panic!("{exceeded}"),
        }
    }

    /// Holds a future to the budget: counted is what happens while it is polled, on whichever thread, and nothing in between.
    ///
    /// The location in the message is that of this call.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     match pin!(future).poll(&mut Context::from_waker(Waker::noop())) { Poll::Ready(value) => value, Poll::Pending => unreachable!() }
    /// # }
    /// let future = heapwise::budget::Budget::new().allocations(0).check_future(async { Box::new(1) });
    /// assert_eq!(block_on(future).unwrap_err().requests(), 1);
    /// ```
    ///
    /// # Errors
    /// If it did not keep to the budget.
    ///
    /// # Panics
    /// When it is polled, as [`check`](Budget::check).
    #[track_caller]
    pub fn check_future<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, Exceeded>> + use<F> {
        let (budget, location) = (*self, Location::caller());
        async move {
            let watch = Watch::new();
            let mut future = std::pin::pin!(future);
            let value = std::future::poll_fn(|context| call(&watch, || future.as_mut().poll(context)));
            let value = value.await;
            budget.judge(watch, location).map(|()| value)
        }
    }

    /// As [`check_future`](Budget::check_future), but panics with the message.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # use std::{future::Future, pin::pin, task::{Context, Waker}};
    /// let future = heapwise::budget::Budget::new().allocations(1).assert_future(async { Box::new(1) });
    /// assert!(pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    /// ```
    ///
    /// # Panics
    /// When it is polled: if it did not keep to the budget, and where [`check`](Budget::check) does.
    #[track_caller]
    pub fn assert_future<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let location = Location::caller();
        let checked = self.check_future(future);
        async move {
            match checked.await {
                Ok(value) => value,
                // The location of the panic is of no use here.
                Err(exceeded) => panic!("at {location}: {exceeded}"),
            }
        }
    }

    /// Whether a watch that is over has kept to the budget.
    fn judge(&self, watch: Watch, location: &'static Location<'static>) -> Result<(), Exceeded> {
        let (total, peak) = watch.end();
        let is_kept = |limit: Option<Limit>, count| limit.is_none_or(|limit| limit.allows(count));
        if is_kept(self.requests, total.counts.requests())
            && is_kept(self.bytes, total.counts.allocated_bytes)
            && is_kept(self.peak, peak)
        {
            let _ignore = crate::tally::Ignore::begin();
            drop(total);
            return Ok(());
        }
        Err(Exceeded::new(*self, total, peak, location))
    }
}

/// Calls it inside of the watch, in a separate frame, the last one of recorded stacks: code of the closure may be in this frame,
/// but no code of its caller.
#[inline(never)]
fn call<T>(watch: &Watch, closure: impl FnOnce() -> T) -> T {
    let of_this_frame = std::hint::black_box(0u8);
    let _inside = watch.enter(std::ptr::from_ref(&of_this_frame).addr());
    closure()
}
