//! heapwise over snmalloc. docs/library-costs.md shows these lines.

use snmalloc_rs::SnMalloc;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<SnMalloc> = heapwise::Allocator::new(SnMalloc);

fn main() {
    wrappers::serve_heapwise();
}
