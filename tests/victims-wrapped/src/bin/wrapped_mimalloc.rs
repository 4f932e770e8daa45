//! Over mimalloc, which is linked into the program.

use mimalloc::MiMalloc;
use victims_wrapped::Counting;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<Counting<MiMalloc>> = heapwise::Allocator::new(Counting(MiMalloc));

fn main() {
    victims_wrapped::main();
}
