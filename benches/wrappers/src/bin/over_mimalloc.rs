//! heapwise over mimalloc.

#[global_allocator]
static ALLOCATOR: heapwise::Allocator<mimalloc::MiMalloc> = heapwise::Allocator::new(mimalloc::MiMalloc);

fn main() {
    wrappers::serve_heapwise();
}
