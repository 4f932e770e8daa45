//! mimalloc, bare.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    wrappers::serve(|| ());
}
