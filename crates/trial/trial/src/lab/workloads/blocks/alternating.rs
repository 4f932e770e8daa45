//! Small and large blocks in turn, of which first one kind is dropped, and then the other.

use super::{Workload, number, wait};
use crate::lab::worker::Stopwatch;
use std::hint::black_box;
use std::time::Instant;

pub(super) struct Alternating;

const SMALL: usize = 64;
const LARGE: usize = 4096;

impl Workload for Alternating {
    fn name(&self) -> &'static str {
        "alternating"
    }

    fn about(&self) -> &'static str {
        "blocks of 64 bytes and of 4 KiB in turn, one kind dropped first"
    }

    fn unit(&self) -> &'static str {
        "blocks"
    }

    /// The numbers are blocks, which go first: the small ones (0), or the large ones (1), whose small neighbours stay, and for how
    /// many milliseconds these stay before the process ends with them. With none, they go, too.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let count = usize::try_from(number(numbers, 0, 0)).unwrap_or(usize::MAX);
        let large_go = number(numbers, 1, 0) == 1;
        let mut held: Vec<Option<Vec<u8>>> = Vec::with_capacity(count);
        watch.moment("baseline");
        // Written to, and not zeroed: of a block that is asked for zeroed, an allocator may give pages that are not there yet.
        let block = |at: usize| Some(black_box(vec![1_u8; if at.is_multiple_of(2) { SMALL } else { LARGE }]));
        held.extend((0..count).map(block));
        let checksum = held.iter().flatten().map(|block| block.len() as u64).sum();
        watch.moment("allocated");
        held.iter_mut().skip(usize::from(large_go)).step_by(2).for_each(|slot| *slot = None);
        watch.moment("one kind dropped");
        watch.moment_purged("one kind purged");
        match number(numbers, 2, 0) {
            0 => drop(held),
            stay => {
                wait(Instant::now(), stay);
                std::mem::forget(held);
            }
        }
        watch.moment("all dropped");
        checksum
    }
}
