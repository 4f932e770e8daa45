//! Operations of known workloads, to the last byte. What one thread does is not disturbed by the other tests.

#![cfg(feature = "operations")]

use heapwise::{Operation, OperationReport, Report, Session};
use serde_json::Value;
use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

fn buffer(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

/// Requests, deallocations, bytes.
fn counts(operation: &Operation) -> (u64, u64, u64) {
    let total = operation.total();
    (total.requests(), total.deallocations, total.allocated_bytes)
}

#[test]
fn all_figures_of_a_span() {
    let session = Session::new();
    let operation = session.operation("known");
    let kept;
    {
        let _span = operation.measure_thread().iterations(2);
        let mut first = buffer(100);
        let zeroed = black_box(vec![0u8; 1000]);
        first.reserve_exact(500);
        drop(zeroed);
        kept = buffer(7);
        drop(first);
    }
    drop(kept);
    let report = operation.report();
    let total = report.total();
    assert_eq!((total.allocations, total.reallocations, total.deallocations), (3, 1, 2));
    assert_eq!((total.allocated_bytes, total.freed_bytes), (100 + 1000 + 500 + 7, 100 + 1000 + 500));
    assert_eq!(total.net_bytes(), 7);
    assert_eq!(report.peak_live_bytes(), Some(1500));
    let mean = report.mean().expect("a span has ended");
    assert_eq!(
        (mean.requests, mean.allocations, mean.reallocations, mean.deallocations),
        (2.0, 1.5, 0.5, 1.0)
    );
    assert_eq!((mean.allocated_bytes, mean.freed_bytes), (803.5, 800.0));
    assert_eq!((report.spans(), report.iterations()), (1, 2));
}

#[test]
fn the_first_span_is_apart_and_the_others_have_a_spread() {
    let session = Session::new();
    let operation = session.operation("warm");
    for (bytes, iterations) in [(5000, 1), (10, 1), (60, 2), (50, 1)] {
        let _span = operation.measure_thread().iterations(iterations);
        drop(buffer(bytes));
    }
    let report = operation.report();
    assert_eq!(report.first().expect("there is one").total.allocated_bytes, 5000);
    let later = report.later().expect("there are three");
    assert_eq!((later.spans, later.iterations, later.mean.allocated_bytes), (3, 4, 30.0));
    assert_eq!((later.min.allocated_bytes, later.max.allocated_bytes), (10.0, 50.0));
    // Their means are 10, 30 (twice) and 50.
    assert!((later.standard_deviation.allocated_bytes - 200f64.sqrt()).abs() < 1e-9);
    assert_eq!((later.min.requests, later.max.requests), (0.5, 1.0));
    assert_eq!(report.mean().expect("yes").allocated_bytes, 1024.0);
}

#[test]
fn nested_spans_are_inclusive_and_overlapping_ones_share_what_is_common() {
    let session = Session::new();
    let [outer, inner, a, b] = ["outer", "inner", "a", "b"].map(|name| session.operation(name));
    {
        let _outer = outer.measure_thread();
        drop(buffer(1));
        let _inner = inner.measure_thread();
        drop(buffer(10));
    }
    let first = a.measure_thread();
    drop(buffer(100));
    let second = b.measure_thread();
    drop(buffer(1000));
    drop(first);
    drop(buffer(10_000));
    drop(second);
    assert_eq!((counts(&outer), counts(&inner)), ((2, 2, 11), (1, 1, 10)));
    assert_eq!((counts(&a), counts(&b)), ((2, 2, 1100), (2, 2, 11_000)));
}

#[test]
fn two_spans_of_one_operation_are_two_spans() {
    let session = Session::new();
    let outer = session.operation("both").measure_thread();
    let inner = session.operation("both").measure_thread();
    drop(buffer(10));
    drop(inner);
    drop(outer);
    assert_eq!(counts(&session.operation("both")), (2, 2, 20));
    assert_eq!(session.operation("both").report().spans(), 2);
}

#[test]
fn what_heapwise_does_itself_is_not_counted() {
    let session = Session::new();
    let operation = session.operation("nothing");
    let span = operation.measure_thread();
    drop(session.operation("nothing"));
    for name in ["some", "new", "names", "some"] {
        let other = session.operation(name);
        drop(other.measure_thread());
        drop(other.measure_process());
        let scope = other.measure_scope();
        scope.handle().run(|| ());
        drop(scope);
        drop(other.measure(std::future::ready(())));
    }
    drop(session.to_report().clone());
    drop(operation.clone());
    drop(Session::new());
    drop(span);
    assert_eq!(counts(&operation), (0, 0, 0));
}

#[test]
fn a_span_that_a_panic_ends_is_unfinished_and_outer_ones_go_on() {
    let session = Session::new();
    let (outer, inner) = (session.operation("outer"), session.operation("inner"));
    let span = outer.measure_thread();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _inner = inner.measure_thread();
        let _large = buffer(1 << 20);
        let _scope = inner.measure_scope();
        let _process = inner.measure_process();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    drop(buffer(50));
    drop(span);
    let report = inner.report();
    assert_eq!((report.spans(), report.unfinished_spans(), report.mean()), (0, 3, None));
    assert_eq!(report.total(), heapwise::Counts::default());
    let report = outer.report();
    assert_eq!((report.spans(), report.unfinished_spans()), (1, 0));
    assert!(report.total().allocated_bytes >= (1 << 20) + 50);
    // The inner peak was passed on although its span is unfinished.
    assert!(report.peak_live_bytes() >= Some(1 << 20), "{report:?}");
}

#[test]
fn a_span_within_a_destructor_that_a_panic_runs_is_a_good_one() {
    struct Measures(Operation);
    impl Drop for Measures {
        fn drop(&mut self) {
            let _span = self.0.measure_thread();
            drop(buffer(33));
        }
    }
    let session = Session::new();
    let operation = session.operation("destructor");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _measures = Measures(operation.clone());
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    assert_eq!((counts(&operation), operation.report().unfinished_spans()), ((1, 1, 33), 0));
}

#[test]
fn a_leaked_span_is_never_heard_of_and_disturbs_nobody() {
    let session = Session::new();
    let (leaked, other) = (session.operation("leaked"), session.operation("other"));
    // On a separate thread, since the peaks of a thread remember its spans.
    thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..100 {
                std::mem::forget(leaked.measure_thread());
                std::mem::forget(leaked.measure_process());
            }
            let _span = other.measure_thread();
            drop(buffer(10));
        });
    });
    assert_eq!((leaked.report().spans(), counts(&other)), (0, (1, 1, 10)));
}

#[test]
fn iterations_may_be_reported_late_and_none_are_no_span() {
    let session = Session::new();
    let operation = session.operation("late");
    let span = operation.measure_thread();
    drop(buffer(12));
    drop(span.iterations(6).iterations(3));
    assert_eq!(operation.mean().expect("it has ended").allocated_bytes, 4.0);
    drop(operation.measure_thread().iterations(0));
    let report = operation.report();
    assert_eq!((report.spans(), report.iterations(), report.unfinished_spans()), (1, 3, 1));
}

#[test]
fn an_operation_is_measured_on_many_threads_at_once() {
    let session = Session::new();
    let operation = session.operation("many");
    let all = Barrier::new(8);
    thread::scope(|threads| {
        for thread in 1..=8 {
            let (all, operation) = (&all, &operation);
            threads.spawn(move || {
                all.wait();
                for _ in 0..100 {
                    let _span = operation.measure_thread().iterations(2);
                    drop(buffer(thread * 10));
                }
            });
        }
    });
    assert_eq!(counts(&operation), (800, 800, 100 * 10 * 36));
    let report = operation.report();
    assert_eq!((report.spans(), report.iterations(), report.peak_live_bytes()), (800, 1600, Some(80)));
}

#[test]
fn an_operation_outlives_its_session() {
    let session = Session::new();
    let operation = session.operation("left over");
    let span = operation.measure_thread();
    drop(session);
    drop(buffer(9));
    drop(span);
    assert_eq!(counts(&operation), (1, 1, 9));
}

#[test]
fn spans_of_a_thread_at_its_very_end() {
    thread_local! {
        static LAST: Cell<Option<Last>> = const { Cell::new(None) };
    }
    struct Last(Operation);
    impl Drop for Last {
        fn drop(&mut self) {
            let _span = self.0.measure_thread();
            let scope = self.0.measure_scope();
            scope.handle().run(|| drop(buffer(77)));
        }
    }
    let session = Session::new();
    let operation = session.operation("at the end");
    let last = operation.clone();
    // A thread that is joined has run its destructors; one that a scope waits for may not have.
    thread::spawn(|| LAST.set(Some(Last(last)))).join().expect("it does not panic");
    // How much is left of a thread then differs between systems; nothing may panic or abort.
    let report = operation.report();
    let is_counted = report.total().allocated_bytes == 2 * 77;
    assert!(report.spans() == 2 && (is_counted || report.late_guards() > 0), "{report:?}");
}

fn json(report: &Report) -> Value {
    serde_json::from_str(&report.to_json()).expect("it is JSON")
}

#[test]
fn json_says_what_the_report_says() {
    let session = Session::new();
    let name = "hostile \" \\ \n \u{1b}[31m \u{202e} é";
    let operation = session.operation(name);
    for bytes in [100, 30, 50] {
        let _span = operation.measure_thread().iterations(2);
        let mut block = buffer(bytes);
        block.reserve_exact(bytes * 2);
    }
    drop(operation.measure_thread().iterations(0));
    drop(session.operation("without").measure_thread().iterations(0));
    let _no_span = session.operation("not there");
    let json = json(&session.to_report());
    assert_eq!((&json["schema"], &json["heapwise"]), (&"heapwise.operations/1".into(), &"0.1.0".into()));
    assert_eq!(json["operations"].as_array().map(Vec::len), Some(2));
    let counts = |n: u64, bytes: u64, freed: u64| {
        serde_json::json!({ "requests": 2 * n, "allocations": n, "reallocations": n, "deallocations": n,
            "allocated_bytes": bytes, "freed_bytes": freed })
    };
    let mean = |bytes: f64| {
        serde_json::json!({ "requests": 1.0, "allocations": 0.5, "reallocations": 0.5, "deallocations": 0.5,
            "allocated_bytes": bytes, "freed_bytes": bytes })
    };
    let none = serde_json::json!({ "requests": 0.0, "allocations": 0.0, "reallocations": 0.0, "deallocations": 0.0,
        "allocated_bytes": 15.0, "freed_bytes": 15.0 });
    let expected = serde_json::json!({
        "name": name, "spans": 3, "iterations": 6, "unfinished_spans": 1, "late_guards": 0,
        "total": counts(3, 540, 540), "mean": mean(90.0), "peak_live_bytes": 200,
        "first": { "iterations": 2, "total": counts(1, 300, 300), "peak_live_bytes": 200 },
        "later": { "spans": 2, "iterations": 4, "mean": mean(60.0), "min": mean(45.0), "max": mean(75.0),
            "standard_deviation": none },
    });
    assert_eq!(json["operations"][0], expected, "{json:#}");
    let without = &json["operations"][1];
    assert_eq!(
        (&without["mean"], &without["first"], &without["later"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(without["peak_live_bytes"], Value::Null);
}

#[test]
fn reports_are_values() {
    fn is_a_value<T: Clone + Send + Sync + std::fmt::Debug>() {}
    is_a_value::<Report>();
    is_a_value::<OperationReport>();
    is_a_value::<Operation>();
    is_a_value::<heapwise::ScopeHandle>();
    let session = Session::new();
    drop(session.operation("a").measure_thread());
    let before = session.to_report();
    drop(session.operation("a").measure_thread());
    let after = session.to_report();
    assert_eq!((before.get("a").expect("a").spans(), after.get("a").expect("a").spans()), (1, 2));
    let merged = thread::spawn(move || Report::merge(&before, &after)).join().expect("no panic");
    assert_eq!(merged.get("a").expect("a").spans(), 3);
}
