//! Scopes: which threads are counted, when, and once.

#![cfg(feature = "operations")]

use heapwise::{Operation, Session};
use rayon::prelude::*;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

fn buffer(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

/// Asserts what an operation has in bytes, and that nothing of it is missing.
fn assert_bytes(operation: &Operation, bytes: u64) {
    let report = operation.report();
    assert_eq!((report.total().allocated_bytes, report.late_guards(), report.spans()), (bytes, 0, 1));
}

#[test]
fn a_worker_is_counted_while_it_is_inside() {
    let session = Session::new();
    let operation = session.operation("workers");
    let (go, wait) = mpsc::channel::<heapwise::ScopeHandle>();
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        let handle = wait.recv().expect("it comes");
        drop(buffer(1 << 30));
        handle.run(|| drop(buffer(100)));
        drop(buffer(1 << 30));
        let first = handle.enter();
        let second = handle.enter();
        drop(buffer(1000));
        // Not the other way round: they overlap.
        drop(first);
        drop(buffer(10_000));
        drop(second);
        drop(buffer(1 << 30));
        done.send(()).expect("the receiver is there");
    });
    let scope = operation.measure_scope();
    let handle = scope.handle();
    // What the channels need is ours; nothing of it is as large as what is looked for.
    drop(buffer(1 << 20));
    go.send(handle).expect("it waits");
    finished.recv().expect("it is done");
    drop(scope);
    worker.join().expect("it does not panic");
    let report = operation.report();
    let bytes = report.total().allocated_bytes;
    assert!((11_100..11_100 + 8192).contains(&(bytes - (1 << 20))), "{bytes}");
    assert_eq!((report.late_guards(), report.peak_live_bytes()), (0, None));
}

#[test]
fn the_thread_of_the_scope_is_counted_once() {
    let session = Session::new();
    let operation = session.operation("own");
    let scope = operation.measure_scope().iterations(5);
    let handle = scope.handle();
    drop(buffer(10));
    handle.run(|| {
        drop(buffer(100));
        handle.run(|| drop(buffer(1000)));
    });
    let outlives = handle.enter();
    drop(buffer(10_000));
    drop(scope);
    drop(buffer(100_000));
    drop(outlives);
    assert_bytes(&operation, 11_110);
    let report = operation.report();
    assert_eq!((report.iterations(), report.peak_live_bytes()), (5, Some(10_000)));
}

#[test]
fn scopes_nest_and_overlap() {
    let session = Session::new();
    let (outer, inner) = (session.operation("outer"), session.operation("inner"));
    let a = outer.measure_scope();
    let b = inner.measure_scope();
    let (for_a, for_b) = (a.handle(), b.handle());
    // Threads of std count for the thread that starts them, so the pool is started before.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| ());
    let before = (outer.report().spans(), inner.report().spans());
    assert_eq!(before, (0, 0));
    let (entered_a, entered_b) = (for_a.clone(), for_b.clone());
    thread::spawn(move || {
        let in_a = entered_a.enter();
        drop(buffer(1 << 20));
        let in_b = entered_b.enter();
        drop(buffer(2 << 20));
        drop(in_a);
        drop(buffer(4 << 20));
        drop(in_b);
    })
    .join()
    .expect("it does not panic");
    drop(a);
    drop(b);
    let mebibytes = |operation: &Operation| operation.total().allocated_bytes >> 20;
    assert_eq!((mebibytes(&outer), mebibytes(&inner)), (3, 6));
}

#[test]
fn what_comes_too_late_is_missing_and_reported() {
    let session = Session::new();
    let operation = session.operation("late");
    let scope = operation.measure_scope();
    let handle = scope.handle();
    let (inside, is_inside) = mpsc::channel();
    let (ended, has_ended) = mpsc::channel::<()>();
    let for_worker = handle.clone();
    let worker = thread::spawn(move || {
        let _guard = for_worker.enter();
        inside.send(()).expect("the receiver is there");
        has_ended.recv().expect("the scope ends");
        drop(buffer(1 << 30));
    });
    is_inside.recv().expect("it is inside");
    drop(scope);
    ended.send(()).expect("it waits");
    worker.join().expect("it does not panic");
    handle.run(|| drop(buffer(1 << 30)));
    let report = operation.report();
    assert_eq!((report.spans(), report.late_guards()), (1, 2));
    assert!(report.total().allocated_bytes < 1 << 20);
    let table = session.to_report().to_string();
    assert!(
        table.ends_with("late: 2 times a thread left its scope after the end, what it did is missing\n"),
        "{table}"
    );
}

#[test]
fn panics_of_workers_and_of_the_scope() {
    let session = Session::new();
    let (survives, panics) = (session.operation("survives"), session.operation("panics"));
    let scope = survives.measure_scope();
    let handle = scope.handle();
    let worker = thread::spawn(move || {
        handle.run(|| {
            drop(buffer(5 << 20));
            std::panic::resume_unwind(Box::new(()));
        });
    });
    assert!(worker.join().is_err());
    drop(scope);
    let report = survives.report();
    assert_eq!((report.spans(), report.late_guards(), report.total().allocated_bytes >> 20), (1, 0, 5));

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _scope = panics.measure_scope();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    assert_eq!((panics.report().spans(), panics.report().unfinished_spans()), (0, 1));
}

/// Jobs that wait for jobs, so that a worker runs another one while it waits.
fn tree(handle: &heapwise::ScopeHandle, depth: u32) -> u64 {
    handle.run(|| {
        let bytes = 1000 + u64::from(depth);
        drop(buffer(bytes as usize));
        match depth {
            0 => bytes,
            _ => {
                let (left, right) = rayon::join(|| tree(handle, depth - 1), || tree(handle, depth - 1));
                bytes + left + right
            }
        }
    })
}

#[test]
fn jobs_that_rayon_runs_inside_of_others_are_counted_once() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("a pool");
    let session = Session::new();
    let operation = session.operation("tree");
    // From inside of the pool, where the scope's thread is a worker, too.
    let bytes = pool.install(|| {
        // Now rayon has allocated what its queues need.
        tree(&session.operation("warm").measure_scope().handle(), 10);
        let scope = operation.measure_scope();
        tree(&scope.handle(), 10)
    });
    let report = operation.report();
    let total = report.total();
    let rayons = total.allocated_bytes - bytes;
    assert!(rayons < 64 << 10, "{rayons} bytes too many of {bytes}");
    assert_eq!((report.spans(), report.late_guards()), (1, 0));
}

#[test]
fn a_parallel_loop_has_what_each_job_does() {
    let session = Session::new();
    let operation = session.operation("loop");
    let scope = operation.measure_scope().iterations(1000);
    let handle = scope.handle();
    (0..1000).into_par_iter().for_each(|_| handle.run(|| drop(buffer(1 << 16))));
    drop(scope);
    let mean = operation.mean().expect("it has ended");
    assert!((65_536.0..66_500.0).contains(&mean.allocated_bytes), "{mean:?}");
}
