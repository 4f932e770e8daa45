//! Over jemalloc, which is linked into the program.

use tikv_jemallocator::Jemalloc;
use victims_wrapped::Counting;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<Counting<Jemalloc>> = heapwise::Allocator::new(Counting(Jemalloc));

fn main() {
    victims_wrapped::main();
}
