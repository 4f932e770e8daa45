//! The attribute on functions of all kinds.

use std::fmt::Debug;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

const MOST: u64 = 2;

#[test]
#[heapwise::budget(allocations = 3, bytes = "4 KiB", peak = "1 KiB")]
fn a_test_that_keeps_to_it() {
    for _ in 0..3 {
        drop(black_box(vec![0u8; 1024]));
    }
}

#[heapwise::budget(allocations = MOST)]
#[test]
fn in_the_other_order_with_a_result() -> Result<(), std::num::ParseIntError> {
    let number: u64 = "7".parse()?;
    assert_eq!(number, 7);
    Ok(())
}

#[test]
#[should_panic(expected = "over the budget of allocations: 3 requests for memory, at most 2 allowed")]
#[heapwise::budget(allocations = MOST)]
fn one_more_than_allowed() {
    for _ in 0..3 {
        drop(black_box(vec![0u8; 1024]));
    }
}

#[test]
#[should_panic(expected = "over the budget of bytes: 4097 bytes requested, at most 4096 allowed")]
#[heapwise::budget(bytes = "4 KiB")]
fn one_byte_more_than_allowed() {
    black_box(vec![0u8; 4097]);
}

#[test]
#[should_panic(expected = "over the budget of peak: 1025 bytes live at the peak")]
#[heapwise::budget(peak = "1 KiB")]
fn one_byte_more_at_a_time() {
    black_box(vec![0u8; 1025]);
}

#[test]
#[should_panic(expected = "of the function")]
#[heapwise::budget(allocations = 0)]
fn a_panic_of_its_own() {
    drop(black_box(vec![1]));
    panic!("of the function");
}

struct List<T>(Vec<T>);

impl<T: Clone + Debug> List<T> {
    /// Parameters, generics, and a result that refers to one of them.
    #[heapwise::budget(allocations = 1)]
    fn pushed<'a>(&'a mut self, mut value: T, times: usize) -> &'a mut T
    where
        T: PartialEq,
    {
        for _ in 1..times {
            value = value.clone();
        }
        self.0.push(value);
        self.0.last_mut().expect("it was just pushed")
    }

    #[heapwise::budget(allocations = 0)]
    fn into_first(self) -> impl Iterator<Item = T> {
        self.0.into_iter().take(1)
    }
}

#[test]
fn methods_and_generics() {
    let mut list = List(Vec::new());
    *list.pushed(5, 3) += 1;
    assert_eq!(list.into_first().next(), Some(6));
}

#[heapwise::budget(allocations = 1, bytes = 8)]
async fn polled(number: &u64) -> Result<Box<u64>, std::fmt::Error> {
    let other = std::future::ready(*number).await;
    Ok(Box::new(other))
}

#[heapwise::budget(allocations = 0)]
async fn polled_and_exceeding() -> Box<u64> {
    Box::new(7)
}

#[test]
fn an_async_function_is_counted_while_it_is_polled() {
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(result) = pin!(polled(&7)).poll(&mut context) else { panic!("it does not wait") };
    assert_eq!(result, Ok(Box::new(7)));
    let panic = std::panic::catch_unwind(|| {
        let _ = pin!(polled_and_exceeding()).poll(&mut Context::from_waker(Waker::noop()));
    });
    let message = *panic.expect_err("it allocates").downcast::<String>().expect("a message");
    let line = include_str!("budget_attribute.rs")
        .lines()
        .position(|l| l.ends_with("fn polled_and_exceeding() -> Box<u64> {"));
    let attribute = line.expect("it is there");
    assert!(
        message.starts_with(&format!("at crates/library/heapwise/tests/budget_attribute.rs:{attribute}:")),
        "{message}"
    );
}
