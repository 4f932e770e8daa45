//! mimalloc inside of a program that knows nothing of heapwise, and counts what it does.

use mimalloc::MiMalloc;
use victims_wrapped::Counting;

#[global_allocator]
static ALLOCATOR: Counting<MiMalloc> = Counting(MiMalloc);

fn main() {
    victims_wrapped::main();
}
