//! The base line: the system's allocator, named and without a wrapper.

#[global_allocator]
static ALLOCATOR: std::alloc::System = std::alloc::System;

fn main() {
    wrappers::serve(|| ());
}
