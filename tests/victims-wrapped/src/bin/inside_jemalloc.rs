//! jemalloc inside of a program that knows nothing of heapwise, and counts what it does.

use tikv_jemallocator::Jemalloc;
use victims_wrapped::Counting;

#[global_allocator]
static ALLOCATOR: Counting<Jemalloc> = Counting(Jemalloc);

fn main() {
    victims_wrapped::main();
}
