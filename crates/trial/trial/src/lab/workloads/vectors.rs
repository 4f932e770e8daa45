//! Large blocks that live for a moment: a zeroed vector and an array that is never written to, again and again.

use super::Workload;
use crate::lab::worker::Stopwatch;
use std::hint::black_box;

pub(super) struct Vectors;

/// What the second and third number are unless they are given.
const NUM_ALLOC: u64 = 100;
const NUM_ELEMENTS: u64 = 100_000;
/// With fewer iterations there would be nothing to halve a few times.
const FEWEST: u64 = 8;

impl Workload for Vectors {
    fn name(&self) -> &'static str {
        "vectors"
    }

    fn about(&self) -> &'static str {
        "100 times a zeroed Vec and an array of 400 kB each"
    }

    fn unit(&self) -> &'static str {
        "iterations"
    }

    /// A hundred iterations where a map has a million entries.
    fn scaled(&self, size: u64) -> u64 {
        (size / 10_000).max(FEWEST)
    }

    /// The numbers are NUM_ITERS, NUM_ALLOC and NUM_ELEMENTS. Each block is dropped as soon as it is allocated, so there is one
    /// phase: reading the clock between each two steps would be most of what it measures.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let number = |at: usize, usual| numbers.get(at).copied().unwrap_or(usual);
        let (iterations, blocks) = (number(0, 0), number(1, NUM_ALLOC));
        let elements = usize::try_from(number(2, NUM_ELEMENTS)).unwrap_or(usize::MAX);
        let mut made = 0u64;
        watch.phase("loop", || {
            for _ in 0..iterations {
                for _ in 0..blocks {
                    // As C++ does it: a block, and then zeros written to it. Were the compiler to see both at once, it
                    // would ask for a zeroed block.
                    let mut vector: Vec<i32> = black_box(Vec::with_capacity(elements));
                    vector.resize(elements, 0);
                    let vector = black_box(vector);
                    let array = black_box(Box::<[i32]>::new_uninit_slice(elements));
                    made += (vector.len() + array.len()) as u64;
                }
            }
        });
        made
    }
}
