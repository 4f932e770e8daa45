//! The storm of allocations with mimalloc inside.

#[expect(unsafe_code, reason = "allocates and frees by hand")]
#[path = "../../../workloads/storm.rs"]
mod storm;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    storm::main();
}
