//! snmalloc inside of a program that knows nothing of heapwise, and counts what it does.

use snmalloc_rs::SnMalloc;
use victims_wrapped::Counting;

#[global_allocator]
static ALLOCATOR: Counting<SnMalloc> = Counting(SnMalloc);

fn main() {
    victims_wrapped::main();
}
