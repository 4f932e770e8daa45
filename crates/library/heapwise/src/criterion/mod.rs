//! Criterion's benchmarks, with their heap in addition to the time: one line for each.
//!
//! ```
//! # // A benchmark that is tested, as `cargo test` does it: nothing is printed but what Criterion prints.
//! use criterion::{Criterion, criterion_group};
//! use heapwise::criterion::BenchHeap;
//!
//! #[global_allocator]
//! static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
//!
//! fn words(c: &mut Criterion) {
//!     let text = "one two three";
//!     c.bench_heap("owned", || text.split(' ').map(str::to_owned).collect::<Vec<_>>());
//!     let mut group = c.heap_group("words");
//!     group.sample_size(20);
//!     group.bench_heap("borrowed", || text.split(' ').collect::<Vec<_>>());
//!     group.finish();
//! }
//!
//! criterion_group!(benches, words);
//! # /*
//! criterion_main!(benches);
//! # */
//! # fn main() { benches() }
//! ```
//!
//! Criterion measures the time and prints it, and a line of heapwise follows:
//!
//! ```text
//! owned                   time:   [84.112 ns 84.395 ns 84.701 ns]
//! owned                   heap:   [4 requests  107 bytes  peak 107 bytes]
//! ```
//!
//! The heap is measured as [`bench`](crate::bench) says, in separate iterations before Criterion's first one, inside of the
//! function that Criterion calls. So its filters, `--list` and `--test` apply to the heap as well. While Criterion measures the
//! time, nothing is counted, unless a [`Session`](crate::Session) is alive.
//!
//! It is not a `Measurement` of Criterion's, because Criterion treats those as times: zero is refused, and a constant value has
//! no distribution for its comparison with the run before (as of 0.8.2). `cargo heapwise bench` compares heaps.
//!
//! This is for Criterion 0.8. For 0.7 there is the feature `criterion-07` with the module `heapwise::criterion_07`.

mod bench_heap;

use ::criterion as version;
pub use bench_heap::{BenchHeap, HeapGroup};
