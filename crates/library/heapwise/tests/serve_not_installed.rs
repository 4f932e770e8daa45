//! A program without the allocator gets an error instead of an empty profile.

#![cfg(feature = "serve")]

#[test]
fn a_server_needs_the_allocator() {
    let error = heapwise::serve::start("127.0.0.1:0").expect_err("nothing can be sampled").to_string();
    assert!(error.contains("#[global_allocator]"), "{error}");
}
