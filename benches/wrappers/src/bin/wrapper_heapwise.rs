//! heapwise over the system's allocator.

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

fn main() {
    wrappers::serve_heapwise();
}
