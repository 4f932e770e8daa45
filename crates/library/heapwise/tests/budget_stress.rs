//! A thousand tests at the same time, each with budgets that are just kept and with some that are exceeded by one, while other
//! threads allocate wildly: none may fail that should not, and none may pass that should not.

use heapwise::budget::Budget;
use std::hint::black_box;
use std::process::Command;
use std::sync::Once;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// Set for the second process.
const INNER: &str = "HEAPWISE_TEST_INNER";

/// Starts threads that allocate, resize and free until the process ends, and others that come and go.
fn disturb() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for seed in 1..=3usize {
            std::thread::spawn(move || {
                let mut kept: Vec<Vec<u8>> = Vec::new();
                for i in 0usize.. {
                    let mut block = Vec::with_capacity(black_box(i * seed % 5000 + 1));
                    block.push(1);
                    block.reserve(i % 300);
                    kept.push(block);
                    if kept.len() > 64 {
                        kept.clear();
                        kept.shrink_to_fit();
                        // The tests need the processor, too.
                        std::thread::sleep(Duration::from_micros(100));
                    }
                }
            });
        }
        std::thread::spawn(|| {
            loop {
                let _ = std::thread::spawn(|| drop(black_box(vec![0u8; 10_000]))).join();
                std::thread::sleep(Duration::from_micros(100));
            }
        });
    });
}

/// What each of the tests does; they differ in how much they allocate.
fn one_of_them(number: usize) {
    disturb();
    let blocks = number % 37 + 1;
    let work = || {
        let held: Vec<Box<usize>> = (0..blocks).map(|i| Box::new(black_box(i))).collect();
        std::thread::yield_now();
        held.len()
    };
    let (requests, bytes) = (blocks as u64 + 1, blocks as u64 * 16);
    let kept = Budget::new().allocations(requests).bytes(bytes).peak(bytes);
    assert_eq!(kept.assert(work), blocks);
    Budget::new().allocations(0).assert(|| ());
    for broken in [
        Budget::new().allocations(requests - 1),
        Budget::new().bytes(bytes - 1),
        Budget::new().peak(bytes - 1),
    ] {
        let exceeded = broken.check(work).expect_err("it is over the budget by one");
        assert_eq!((exceeded.requests(), exceeded.bytes(), exceeded.peak_bytes()), (requests, bytes, bytes));
    }
    // Names are looked up under a lock that all of them need.
    if number.is_multiple_of(100) {
        let exceeded = Budget::new().allocations(0).check(work).expect_err("it allocates");
        let of_them: u64 = exceeded.sites().iter().map(|site| site.requests).sum();
        assert_eq!(of_them, requests);
        assert!(exceeded.to_string().contains("one_of_them"), "{exceeded}");
    }
}

macro_rules! tests {
    (@ones $base:expr; $($name:ident = $one:expr),*) => {
        $(#[test] fn $name() { super::super::one_of_them($base + $one) })*
    };
    (@tens $base:expr; $($name:ident = $ten:expr),*) => {
        $(mod $name {
            tests!(@ones $base + $ten; n0 = 0, n1 = 1, n2 = 2, n3 = 3, n4 = 4, n5 = 5, n6 = 6, n7 = 7, n8 = 8, n9 = 9);
        })*
    };
    ($($name:ident = $hundred:expr),*) => {
        $(mod $name {
            tests!(@tens $hundred; t0 = 0, t1 = 10, t2 = 20, t3 = 30, t4 = 40, t5 = 50, t6 = 60, t7 = 70, t8 = 80, t9 = 90);
        })*
    };
}

tests!(h0 = 0, h1 = 100, h2 = 200, h3 = 300, h4 = 400, h5 = 500, h6 = 600, h7 = 700, h8 = 800, h9 = 900);

/// The same tests again, up to 1000 at a time.
#[test]
fn hundreds_at_a_time() {
    if std::env::var_os(INNER).is_some() {
        return;
    }
    let mut again = Command::new(std::env::current_exe().expect("a test knows its own file"));
    let output =
        again.args(["--test-threads", "1000"]).env(INNER, "1").output().expect("it can be started again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1001 passed; 0 failed"), "{text}");
}
