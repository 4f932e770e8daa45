//! Memory with huge pages, or without: how it becomes resident, how long that takes, and how fast it is read then.

use super::super::Workload;
use super::region::{HUGE as HUGE_PAGE, PAGE, Region};
use crate::lab::worker::Stopwatch;
use crate::statistics::random::Random;
use rustix::mm::Advice;
use std::time::Instant;

pub(super) struct Huge;

const MIB: u64 = 1 << 20;
/// Pages that are read, in random order.
const READS: u64 = 5_000_000;

impl Workload for Huge {
    fn name(&self) -> &'static str {
        "huge"
    }

    fn about(&self) -> &'static str {
        "memory is touched sparsely, then wholly, then read at random, with huge pages or without"
    }

    fn unit(&self) -> &'static str {
        "MiB"
    }

    /// The numbers are MiB, and the pages: as the system has them (0), never huge (1), or huge on request (2).
    ///
    /// # Panics
    ///
    /// If there is no memory: there is nothing to measure then.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
        let (length, way) = ((number(0).max(4) * MIB) as usize, number(1));
        if way == 1 {
            // Of this process only, and of those that it starts.
            rustix::thread::disable_transparent_huge_pages(true)
                .unwrap_or_else(|error| panic!("huge pages cannot be turned off: {error}"));
        }
        let new = || {
            let mut region = Region::new(length).unwrap_or_else(|error| panic!("no memory: {error}"));
            if way == 2 {
                // A kernel without huge pages does not know this: then there are none.
                let _ = region.advise(Advice::LinuxHugepage);
            }
            region
        };
        let (mut sparse, mut whole) = (new(), new());
        watch.moment("baseline");
        for page in (0..sparse.pages()).step_by(HUGE_PAGE / PAGE) {
            sparse.write(page, 1);
        }
        watch.moment("sparse");
        drop(sparse);
        let mut times = vec![0_u32; whole.pages()];
        watch.moment("empty");
        for (page, time) in times.iter_mut().enumerate() {
            let began = Instant::now();
            whole.write(page, page as u8);
            *time = u32::try_from(began.elapsed().as_nanos()).unwrap_or(u32::MAX);
        }
        watch.moment("full");
        let checksum = watch.phase("reads", || read(&whole));
        times.sort_unstable();
        let at = |part: f64| u64::from(times[((times.len() - 1) as f64 * part) as usize]);
        watch.measured("median_ns", at(0.5));
        watch.measured("p999_ns", at(0.999));
        watch.measured("worst_ns", at(1.0));
        checksum
    }
}

/// Reads pages in random order: each from another line of the translation cache.
fn read(region: &Region) -> u64 {
    let mut random = Random::new(17);
    let pages = region.pages() as u64;
    let sum = (0..READS).map(|_| u64::from(region.read(random.below(pages) as usize)));
    sum.fold(pages, u64::wrapping_add)
}
