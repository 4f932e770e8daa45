//! A program without the allocator gets an error instead of zeroes.

#![cfg(feature = "operations")]

use std::panic::catch_unwind;

#[test]
fn a_session_needs_the_allocator() {
    let panic = catch_unwind(heapwise::Session::new).expect_err("nothing can be counted");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(
        message.contains("#[global_allocator]") && message.contains("heapwise::Allocator::system()"),
        "{message}"
    );
}
