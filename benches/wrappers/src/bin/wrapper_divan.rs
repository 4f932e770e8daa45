//! divan's profiler over the system's allocator. On Linux it counts in thread-local memory on every call, whether a benchmark
//! runs or not, so there is nothing to be turned on.

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    wrappers::serve(|| ());
}
