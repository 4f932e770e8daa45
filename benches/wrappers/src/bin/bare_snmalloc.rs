//! snmalloc, bare.

#[global_allocator]
static ALLOCATOR: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

fn main() {
    wrappers::serve(|| ());
}
