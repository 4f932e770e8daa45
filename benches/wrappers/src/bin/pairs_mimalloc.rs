//! The storm's pairs with mimalloc inside.

#[expect(unsafe_code, reason = "allocates and frees by hand, and reads clocks")]
#[path = "../../../workloads/pairs.rs"]
mod pairs;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    pairs::main();
}
