//! The system's allocator in a program that knows nothing of heapwise, and counts what it does.

use std::alloc::System;
use victims_wrapped::Counting;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

fn main() {
    victims_wrapped::main();
}
