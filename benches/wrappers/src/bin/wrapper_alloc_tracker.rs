//! alloc_tracker over the system's allocator.

#[global_allocator]
static ALLOCATOR: alloc_tracker::Allocator<std::alloc::System> = alloc_tracker::Allocator::system();

fn main() {
    if !wrappers::is_to_watch() {
        return wrappers::serve(|| ());
    }
    let session = alloc_tracker::Session::new().no_stdout().no_file();
    let operation = session.operation("pairs");
    wrappers::serve(|| operation.measure_thread().iterations(1));
}
