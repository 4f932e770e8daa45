//! dhat-rs, which has the system's allocator below it.

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    // In testing mode it writes no file at the end. Until then it does the same.
    let _profiler = wrappers::is_to_watch().then(|| dhat::Profiler::builder().testing().build());
    wrappers::serve(|| ());
}
