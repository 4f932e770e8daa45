//! heapwise over jemalloc. docs/library-costs.md shows these lines.

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<Jemalloc> = heapwise::Allocator::new(Jemalloc);

fn main() {
    wrappers::serve_heapwise();
}
