//! Pages are written, the kernel is advised that they are not needed, and they are written again, as allocators do.

use super::super::Workload;
use super::region::Region;
use crate::lab::worker::Stopwatch;
use rustix::mm::Advice;

pub(super) struct Advised;

/// The article's region, and one whose resident memory can be seen.
const SMALL: usize = 1 << 20;
const LARGE: usize = 64 << 20;

/// Ways to advise it, by their numbers. Number 0 is none, the one behind them all unmaps.
const ADVICE: [Option<Advice>; 5] = [
    None,
    Some(Advice::LinuxDontNeed),
    Some(Advice::LinuxFree),
    Some(Advice::LinuxCold),
    Some(Advice::LinuxPageOut),
];
const UNMAP: u64 = ADVICE.len() as u64;

impl Workload for Advised {
    fn name(&self) -> &'static str {
        "advised"
    }

    fn about(&self) -> &'static str {
        "a MiB of pages is written, and the kernel advised that they are not needed"
    }

    fn unit(&self) -> &'static str {
        "cycles"
    }

    /// The numbers are cycles, and the advice for the kernel: none (0), `MADV_DONTNEED` (1), `MADV_FREE` (2), `MADV_COLD` (3),
    /// `MADV_PAGEOUT` (4), or the pages are unmapped and new ones mapped (5).
    ///
    /// # Panics
    ///
    /// If the kernel refuses, since there is nothing to measure then.
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
        let (cycles, way) = (number(0), number(1).min(UNMAP));
        let mut checksum = 0u64;
        let mut region = Some(new(SMALL));
        watch.moment("baseline");
        for cycle in 0..cycles {
            checksum = checksum.wrapping_add(write(region.as_mut().expect("there is one"), cycle));
            give_back(&mut region, way);
            if region.is_none() {
                region = Some(new(SMALL));
            }
        }
        watch.moment("cycled");
        drop(region);
        let mut region = Some(new(LARGE));
        watch.moment("empty");
        checksum = checksum.wrapping_add(write(region.as_mut().expect("there is one"), cycles));
        watch.moment("written");
        give_back(&mut region, way);
        watch.moment("advised");
        checksum
    }
}

fn new(length: usize) -> Region {
    Region::new(length).unwrap_or_else(|error| panic!("cannot map {length} bytes: {error}"))
}

/// Writes into each page, and returns the sum of what is in them then.
fn write(region: &mut Region, cycle: u64) -> u64 {
    let mut sum = 0u64;
    for page in 0..region.pages() {
        region.write(page, (cycle ^ page as u64) as u8);
        sum += u64::from(region.read(page));
    }
    sum
}

fn give_back(region: &mut Option<Region>, way: u64) {
    match (ADVICE.get(way as usize), region.as_mut()) {
        (Some(Some(advice)), Some(pages)) => {
            pages.advise(*advice).unwrap_or_else(|error| panic!("the kernel refuses {advice:?}: {error}"));
        }
        (Some(None), _) => {}
        _ => *region = None,
    }
}
