//! Futures are counted while they are polled, on whatever thread.

#![cfg(feature = "operations")]

use heapwise::Session;
use std::collections::HashSet;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

fn buffer(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

/// Is ready the second time.
#[derive(Default)]
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn only_polls_are_counted_and_the_peak_spans_them() {
    let session = Session::new();
    let operation = session.operation("future");
    let mut future = Box::pin(
        operation
            .measure(async {
                let first = buffer(1000);
                drop(buffer(5000));
                Once::default().await;
                let second = buffer(3000);
                drop(buffer(500));
                Once::default().await;
                drop((first, second));
                buffer(7)
            })
            .iterations(2),
    );
    assert!(poll(future.as_mut()).is_pending());
    drop(buffer(1 << 20));
    // A future may go on on another thread.
    let mut future = thread::spawn(move || {
        assert!(poll(future.as_mut()).is_pending());
        future
    })
    .join()
    .expect("it does not panic");
    assert_eq!(operation.report().spans(), 0);
    let Poll::Ready(result) = poll(future.as_mut()) else { panic!("it is ready") };
    drop(future);
    drop(result);
    let report = operation.report();
    let total = report.total();
    assert_eq!((total.allocations, total.deallocations), (5, 4));
    assert_eq!((total.allocated_bytes, total.freed_bytes), (9507, 9500));
    assert_eq!(
        (report.peak_live_bytes(), report.iterations(), report.unfinished_spans()),
        (Some(6000), 2, 0)
    );
}

#[test]
fn what_a_future_owns_is_dropped_within_its_span() {
    let session = Session::new();
    let operation = session.operation("owns");
    let body = buffer(100);
    let mut future = pin!(operation.measure(async move { body.capacity() }));
    assert_eq!(poll(future.as_mut()), Poll::Ready(100));
    assert_eq!(operation.total().freed_bytes, 100);
    let again = catch_unwind(AssertUnwindSafe(|| poll(future.as_mut())));
    assert!(again.is_err(), "a future that was ready must not be polled");
    assert_eq!(operation.report().spans(), 1);
}

#[test]
fn futures_that_do_not_end_are_unfinished() {
    let session = Session::new();
    let operation = session.operation("unfinished");
    drop(operation.measure(async {}));
    let mut waits = Box::pin(operation.measure(Once::default()));
    assert!(poll(waits.as_mut()).is_pending());
    drop(waits);
    let mut panics = Box::pin(operation.measure(async { std::panic::resume_unwind(Box::new(())) }));
    let _: thread::Result<Poll<()>> = catch_unwind(AssertUnwindSafe(|| poll(panics.as_mut())));
    drop(panics);
    let report = operation.report();
    assert_eq!((report.spans(), report.unfinished_spans()), (0, 3));
}

#[test]
fn a_future_within_another_belongs_to_both() {
    let session = Session::new();
    let (outer, inner) = (session.operation("outer"), session.operation("inner"));
    let nested = inner.measure(async {
        let kept = buffer(20);
        Once::default().await;
        drop(kept);
    });
    let mut future = pin!(outer.measure(async {
        drop(buffer(1));
        nested.await;
    }));
    assert!(poll(future.as_mut()).is_pending());
    assert!(poll(future.as_mut()).is_ready());
    assert_eq!((outer.total().allocated_bytes, inner.total().allocated_bytes), (21, 20));
    assert_eq!(inner.total().deallocations, 1);
}

#[test]
fn tasks_that_take_turns_on_threads_are_distinguished() {
    let session = Session::new();
    let (small, large) = (session.operation("small"), session.operation("large"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().expect("a runtime");
    let task = |bytes: usize| async move {
        let mut threads = HashSet::new();
        for _ in 0..100 {
            threads.insert(thread::current().id());
            let block = buffer(bytes);
            tokio::task::yield_now().await;
            drop(block);
        }
        threads.len()
    };
    let round = async || {
        let tasks: Vec<_> = (0..40)
            .map(|n| match n % 2 {
                0 => tokio::spawn(small.measure(task(1 << 10))),
                _ => tokio::spawn(large.measure(task(1 << 20))),
            })
            .collect();
        let mut moved = 0;
        for task in tasks {
            moved += task.await.expect("it does not panic") - 1;
        }
        moved
    };
    let mut rounds = 0;
    // On a machine that is busy with other things one thread may do all the work for a while.
    while {
        rounds += 1;
        runtime.block_on(round()) == 0
    } {
        assert!(rounds < 1000, "no task has ever changed its thread, so this shows nothing");
    }
    for (operation, bytes) in [(&small, 1u64 << 10), (&large, 1 << 20)] {
        let report = operation.report();
        assert_eq!((report.spans(), report.unfinished_spans()), (20 * rounds, 0));
        // Each task also has its set of threads, and tokio notes which tasks have yielded.
        let own = rounds * 20 * 100 * bytes;
        let more = report.total().allocated_bytes - own;
        assert!(more < rounds * (400 << 10), "{more} bytes too many of {own}");
    }
}
