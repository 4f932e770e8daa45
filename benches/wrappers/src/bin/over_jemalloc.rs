//! heapwise over jemalloc.

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<tikv_jemallocator::Jemalloc> =
    heapwise::Allocator::new(tikv_jemallocator::Jemalloc);

fn main() {
    wrappers::serve_heapwise();
}
