//! Says what it is doing, by marks, spans and `tracing`.

use std::hint::black_box;
use tracing_subscriber::prelude::*;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

#[inline(never)]
fn allocate(n: usize) {
    (0..n).for_each(|i| drop(black_box(Box::new([i; 4]))));
}

/// A block that is resized, so that what hands it out has to be what moves and frees it.
#[inline(never)]
fn grow() {
    let mut grown = Vec::new();
    (0..100).for_each(|i| grown.push(black_box(i)));
}

fn main() {
    grow();
    tracing_subscriber::registry().with(heapwise::tracing::MarkLayer::new().events()).init();
    heapwise::mark("begun");
    for _ in 0..5 {
        let _span = heapwise::span("round");
        allocate(10);
    }
    let traced = tracing::info_span!("traced");
    for _ in 0..3 {
        let _entered = traced.enter();
        allocate(7);
    }
    tracing::info!("something happened");
    std::thread::spawn(|| {
        let _span = heapwise::span(format!("in a {}", "thread"));
        allocate(20);
    })
    .join()
    .expect("it does not panic");
    println!("done");
}
