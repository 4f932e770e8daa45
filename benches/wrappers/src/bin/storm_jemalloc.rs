//! The storm of allocations with jemalloc inside.

#[expect(unsafe_code, reason = "allocates and frees by hand")]
#[path = "../../../workloads/storm.rs"]
mod storm;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    storm::main();
}
