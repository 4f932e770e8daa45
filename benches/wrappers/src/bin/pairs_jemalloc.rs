//! The storm's pairs with jemalloc inside.

#[expect(unsafe_code, reason = "allocates and frees by hand, and reads clocks")]
#[path = "../../../workloads/pairs.rs"]
mod pairs;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    pairs::main();
}
