//! heapwise over mimalloc. docs/library-costs.md shows these lines.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<MiMalloc> = heapwise::Allocator::new(MiMalloc);

fn main() {
    wrappers::serve_heapwise();
}
