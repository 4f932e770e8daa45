//! Budgets of closures, scopes and futures.

use heapwise::budget::{Budget, Limit};
use heapwise::{assert_allocated_bytes, assert_allocations, assert_no_allocations};
use std::hint::black_box;
use std::panic::catch_unwind;
use std::sync::Barrier;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

const NOTHING: Budget = Budget::new().allocations(0);

fn buffer(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

fn message_of(code: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = catch_unwind(code).expect_err("it has to panic");
    *panic.downcast::<String>().expect("the message is a string")
}

#[test]
fn what_a_closure_returns_comes_back() {
    assert_eq!(assert_allocations!(<= 1, || vec![1, 2, 3]), [1, 2, 3]);
    assert_eq!(assert_allocations!(< 2, || vec![1, 2, 3]), [1, 2, 3]);
    assert_eq!(assert_allocations!(== 1, || vec![1, 2, 3],), [1, 2, 3]);
    assert_eq!(assert_no_allocations!({ 1 + 1 }), 2);
    assert_eq!(assert_no_allocations!(|| 1 + 1), 2);
    assert_eq!(assert_allocated_bytes!(<= 12, || vec![1i32, 2, 3]), [1, 2, 3]);
    let moved = String::new();
    let closure = move || moved;
    assert_eq!(assert_no_allocations!(closure), "");
}

#[test]
fn each_limit_is_found_to_be_exceeded_by_one() {
    let two = || drop((buffer(10), buffer(20)));
    Budget::new().allocations(2).assert(two);
    Budget::new().bytes(30).assert(two);
    Budget::new().peak(30).assert(two);
    assert!(Budget::new().allocations(1).check(two).is_err());
    assert!(Budget::new().bytes(29).check(two).is_err());
    assert!(Budget::new().peak(29).check(two).is_err());
    assert!(Budget::new().limit_allocations(Limit::Below(2)).check(two).is_err());
    assert!(Budget::new().limit_allocations(Limit::Exactly(3)).check(two).is_err());
    assert!(Budget::new().limit_allocations(2.into()).check(two).is_ok());
}

#[test]
fn growing_is_a_request_and_giving_back_is_none() {
    let mut list = buffer(10);
    let exceeded = NOTHING.check(|| list.reserve_exact(100)).unwrap_err();
    assert_eq!((exceeded.requests(), exceeded.counts().reallocations, exceeded.bytes()), (1, 1, 100));
    assert_eq!(exceeded.peak_bytes(), 90);
    assert_no_allocations!(|| drop(list));
}

#[test]
fn the_message_of_the_user_is_there_and_that_of_heapwise() {
    let message = message_of(|| {
        assert_allocations!(<= 1, || drop((buffer(1), buffer(1))), "reading {}", "a page");
    });
    assert!(message.starts_with("reading a page: over the budget of allocations: 2 requests"), "{message}");
    let message = message_of(|| assert_no_allocations!({ drop(buffer(1)) }, "none {}", 0));
    assert!(message.starts_with("none 0: over the budget of allocations: 1 request for"), "{message}");
    let message = message_of(|| {
        let _ = assert_allocations!(== 3, || Box::new(1));
    });
    assert!(
        message.starts_with("below the budget of allocations: 1 request for memory, exactly 3"),
        "{message}"
    );
    let both = Budget::new().allocations(0).bytes(10).peak(100);
    let message = both.check(|| buffer(11)).unwrap_err().to_string();
    assert!(
        message.contains("1 request for memory, none allowed; over the budget of bytes: 11 bytes"),
        "{message}"
    );
    assert!(!message.contains("budget of peak"), "{message}");
}

#[test]
fn budgets_nest() {
    let exceeded = NOTHING.check(|| {
        drop(buffer(1));
        Budget::new().allocations(1).peak(5).assert(|| drop(buffer(5)));
        let inner = NOTHING.check(|| drop((buffer(2), buffer(3)))).unwrap_err();
        assert_eq!((inner.requests(), inner.bytes(), inner.peak_bytes()), (2, 5, 5));
        // What heapwise needs to name them is not the outer one's.
        assert_eq!(inner.sites().len(), 1, "{inner}");
        let held = buffer(100);
        assert_no_allocations!(|| ());
        drop(held);
    });
    let exceeded = exceeded.unwrap_err();
    assert_eq!((exceeded.requests(), exceeded.bytes(), exceeded.peak_bytes()), (5, 111, 100));
    assert_eq!(exceeded.counts().deallocations, 5);
    let requests: u64 = exceeded.sites().iter().map(|site| site.requests).sum();
    assert_eq!(requests, 5, "stacks of the inner ones belong to the outer one, too: {exceeded}");
}

#[test]
fn a_panic_goes_through_and_nothing_stays() {
    let message = message_of(|| NOTHING.assert(|| panic!("of {}", black_box("the closure"))));
    assert_eq!(message, "of the closure");
    drop(buffer(10));
    assert_no_allocations!(|| ());
    let exceeded = NOTHING.check(|| {
        let _ = catch_unwind(|| NOTHING.assert(|| std::panic::resume_unwind(Box::new(7))));
        drop(buffer(10));
    });
    // The box of the panic, what unwinding takes for it, and the buffer.
    let exceeded = exceeded.unwrap_err();
    assert!((2..=3).contains(&exceeded.requests()), "{exceeded}");
}

#[test]
fn other_threads_are_not_counted_unless_they_enter_the_scope() {
    let (begin, end) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            begin.wait();
            (0..1000).for_each(|_| drop(buffer(100)));
            end.wait();
        });
        assert_no_allocations!(|| {
            begin.wait();
            end.wait();
        });
    });

    let work = |enters: bool| {
        Budget::new().allocations(99).check_scope(|scope| {
            std::thread::scope(|threads| {
                for _ in 0..2 {
                    let handle = scope.handle();
                    threads.spawn(move || {
                        let allocate = || (0..50).for_each(|_| drop(buffer(1000)));
                        if enters { handle.run(allocate) } else { allocate() }
                    });
                }
            });
        })
    };
    work(false).expect("what it takes to start two threads is less");
    let exceeded = work(true).unwrap_err();
    assert!(exceeded.requests() >= 100 && exceeded.bytes() >= 100_000, "{exceeded}");
    assert_eq!(exceeded.sites()[0].requests, 100, "{exceeded}");
}

#[test]
fn the_peak_of_a_scope_is_that_of_its_threads_together() {
    let exceeded = Budget::new().peak(0).check_scope(|scope| {
        let both = Barrier::new(2);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    let _guard = scope.handle().enter();
                    let held = buffer(1 << 20);
                    both.wait();
                    drop(held);
                });
            }
        });
    });
    let peak = exceeded.unwrap_err().peak_bytes();
    assert!((2 << 20..(2 << 20) + (64 << 10)).contains(&peak), "{peak}");
}

#[test]
fn a_thread_that_enters_twice_is_counted_once() {
    let exceeded = NOTHING.check_scope(|scope| {
        let handle = scope.handle();
        let _guard = handle.enter();
        handle.run(|| drop(buffer(10)));
    });
    assert_eq!(exceeded.unwrap_err().requests(), 1);
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    let mut inner = None;
    let outer = NOTHING.check_scope(|outer| {
        inner = Some(NOTHING.check_scope(|inner| {
            // On a separate thread, as this one is inside of both.
            let (outer, inner) = (outer.handle(), inner.handle());
            std::thread::scope(|threads| {
                threads.spawn(move || {
                    let outer = outer.enter();
                    let inner = inner.enter();
                    drop(buffer(1000));
                    drop(outer);
                    drop(buffer(2000));
                    drop(inner);
                    drop(buffer(4000));
                });
            });
        }));
    });
    let bytes = |exceeded: heapwise::budget::Exceeded| exceeded.bytes() / 1000 % 8;
    assert_eq!(bytes(inner.expect("it ran").unwrap_err()), 3);
    assert_eq!(bytes(outer.unwrap_err()), 1);
}

#[test]
fn a_future_is_counted_only_while_it_is_polled() {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    let mut polls = 0;
    let future = poll_fn(|_| {
        polls += 1;
        drop(buffer(1000));
        if polls == 3 { Poll::Ready("done") } else { Poll::Pending }
    });
    let mut future = pin!(Budget::new().allocations(2).check_future(future));
    let mut context = Context::from_waker(Waker::noop());
    let exceeded = loop {
        drop(buffer(7));
        match future.as_mut().poll(&mut context) {
            Poll::Ready(result) => break result.unwrap_err(),
            Poll::Pending => {}
        }
    };
    assert_eq!((exceeded.requests(), exceeded.bytes(), exceeded.peak_bytes()), (3, 3000, 1000));
    let done = pin!(NOTHING.assert_future(async { 5 })).poll(&mut context);
    assert_eq!(done, Poll::Ready(5));
}

#[test]
fn millions_of_requests_are_counted_exactly_and_named_nearly_so() {
    let exceeded = NOTHING.check(|| {
        for i in 0..300_000 {
            drop(if i % 3 == 0 { buffer(30) } else { black_box(vec![0u8; 10]) });
        }
    });
    let exceeded = exceeded.unwrap_err();
    assert_eq!((exceeded.requests(), exceeded.bytes()), (300_000, 5_000_000));
    assert!(exceeded.is_sampled());
    assert_eq!(exceeded.sites().len(), 2, "{exceeded}");
    let share = exceeded.sites()[0].requests as f64 / 3e5;
    assert!((0.6..0.73).contains(&share), "{exceeded}");
    assert!(exceeded.to_string().contains("about "));
}

/// Names are looked up under a lock, and while the loader lists its libraries. The backtrace of another thread, which is inside
/// of a budget, does both as well.
#[test]
fn backtraces_on_several_threads_do_not_wait_for_each_other() {
    let backtrace = || std::backtrace::Backtrace::force_capture().to_string().len();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                for _ in 0..5 {
                    let exceeded = NOTHING.check(backtrace).unwrap_err();
                    assert!(exceeded.to_string().contains("Backtrace"), "{exceeded}");
                }
            });
        }
    });
}

#[test]
fn an_operation_around_a_budget_counts_the_closure_and_not_heapwise() {
    let session = heapwise::Session::new();
    let operation = session.operation("budgets");
    {
        let _span = operation.measure_thread();
        for _ in 0..10 {
            Budget::new().allocations(1).assert(|| drop(buffer(100)));
            let exceeded = NOTHING.check(|| drop(buffer(100))).unwrap_err();
            assert_eq!(exceeded.sites().len(), 1);
        }
    }
    let total = operation.total();
    assert_eq!((total.allocations, total.reallocations, total.deallocations), (20, 0, 20));
    assert_eq!((total.allocated_bytes, total.net_bytes()), (2000, 0));
}

#[test]
#[should_panic(expected = "1 thread(s) are still in its scope")]
fn a_scope_that_somebody_is_still_in_is_not_judged() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let _ = Budget::new().bytes(0).check_scope(|scope| {
        let handle = scope.handle();
        std::thread::spawn(move || {
            let _inside = handle.enter();
            black_box(vec![0u8; 1 << 20]);
            sender.send(()).expect("the receiver is there");
            std::thread::park();
        });
        receiver.recv().expect("it is sent")
    });
}

#[test]
fn a_thread_leaves_a_scope_with_its_last_guard() {
    let exceeded = Budget::new().bytes(0).check_scope(|scope| {
        let handle = scope.handle();
        let worker = std::thread::spawn(move || {
            let (first, second) = (handle.enter(), handle.enter());
            drop(first);
            black_box(vec![0u8; 1 << 20]);
            drop(second);
        });
        worker.join().expect("it does not panic");
    });
    assert!(exceeded.unwrap_err().bytes() >= 1 << 20);
}
