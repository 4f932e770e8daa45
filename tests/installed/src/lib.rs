//! Installs `heapwise::Allocator` for the examples in the docs of `heapwise`.
//!
//! An example that says `use heapwise_installed as _;` is compiled together with the others. rustdoc compiles one that
//! declares the allocator itself by itself, and a hundred of those take longer than all other examples together.

#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
