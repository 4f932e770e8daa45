//! [`criterion`](https://docs.rs/criterion/0.7) 0.7's benchmarks, with their heap in addition to the time: what
//! `heapwise::criterion` is for version 0.8, with the feature `criterion-07`.
//!
//! ```
//! # extern crate criterion_07 as criterion;
//! use criterion::Criterion;
//! use heapwise::criterion_07::BenchHeap;
//!
//! #[global_allocator]
//! static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
//!
//! fn words(c: &mut Criterion) {
//!     c.bench_heap("words", || "a b c".split(' ').map(str::to_owned).collect::<Vec<_>>());
//! }
//! # fn main() { words(&mut Criterion::default().configure_from_args()) }
//! ```

#[path = "criterion/bench_heap.rs"]
#[expect(clippy::duplicate_mod, reason = "the same code for the types of two versions of one crate")]
mod bench_heap;

use ::criterion_07 as version;
pub use bench_heap::{BenchHeap, HeapGroup};
