//! heapwise over snmalloc.

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<snmalloc_rs::SnMalloc> =
    heapwise::Allocator::new(snmalloc_rs::SnMalloc);

fn main() {
    wrappers::serve_heapwise();
}
