//! Over the system's allocator.

use std::alloc::System;
use victims_wrapped::Counting;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<Counting<System>> = heapwise::Allocator::new(Counting(System));

fn main() {
    victims_wrapped::main();
}
