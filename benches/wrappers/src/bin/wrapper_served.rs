//! heapwise over the system's allocator, in a program that serves its profile.

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

fn main() {
    let _server = heapwise::serve::start("127.0.0.1:0").expect("a port is free");
    wrappers::serve(|| ());
}
