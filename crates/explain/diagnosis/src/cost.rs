//! What allocator calls cost, by a model.
//!
//! The constants were measured by `examples/calibrate.rs` with glibc 2.36 on one hardware thread of a Xeon at 2.5 GHz. They
//! differ between machines and allocators by a factor of two or so, which is why every number that comes from here is
//! called an estimate.
//!
//! What is found rests on the model alone: it must be the same for two runs of a program, and measured times
//! differ by a tenth from run to run. What would remain of a site after a change has no measurement at all. But how much a finding
//! says that a change saves is set right by the calls of its sites that were measured ([`Site::allocator_time`]): within a program,
//! with its caches and its allocator, they take two to four times as long as the model's. How severe it is is a part of the time
//! that the program took: on a slow machine both are longer, so the model is set right there, too.

use crate::allocator;
use heapwise_analysis::{AllocatorTime, Analysis, Bytes, Nanos, Process, Site, SiteId};

/// Allocating and freeing a block with no other allocation in between, or with a few: 8.5 ns. It is still in the cache.
const SHORT_PAIR_NS: f64 = 8.5;
/// Allocating and freeing a block among 20,000 others of many sizes: 25 ns.
const PAIR_NS: f64 = 25.0;
/// A reallocation that stays small: 17 ns.
const REALLOCATION_NS: f64 = 17.0;
/// Copying a KiB within the processor's cache: 22 ns; beyond it seven times as much.
const COPY_NS_PER_KIB: f64 = 22.0;
/// What an entry of a hash map costs more if the map grew up to it: 43 - 19 ns.
const REHASH_NS: f64 = 24.0;
/// What a free costs more if another thread was handed the block: 10 ns, and more while both threads allocate.
pub(crate) const REMOTE_FREE_NS: f64 = 10.0;
/// From this size on glibc returns a block to the kernel at once and the next one has to be faulted in again.
const UNMAPPED_FROM: u64 = 32 << 20;
/// Filling a KiB of new pages instead of used ones: 450 - 35 ns.
const FRESH_NS_PER_KIB: f64 = 415.0;

/// Calls, by what they cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// Blocks that are allocated and freed.
    pub(crate) pairs: u64,
    /// Of these, short-lived ones.
    pub(crate) short_lived: u64,
    pub(crate) reallocations: u64,
    /// Bytes that are copied to another place.
    pub(crate) copied_bytes: u64,
    /// Entries of hash maps that grew up to them.
    pub(crate) rehashed: u64,
    /// Bytes in blocks that are so large that their pages are new each time.
    pub(crate) fresh_bytes: u64,
}

impl Work {
    /// The allocator's work for a site.
    pub(crate) fn of_site(site: &Site) -> Self {
        let huge = site.sizes.quantile(0.5).is_some_and(|b| b.0 >= UNMAPPED_FROM);
        Self {
            pairs: site.allocations,
            short_lived: site.freed_after.short_lived().min(site.allocations),
            reallocations: site.reallocations,
            copied_bytes: site.copied_bytes.0,
            rehashed: 0,
            fresh_bytes: if huge { site.allocated_bytes.0 } else { 0 },
        }
    }
}

/// What calls cost by the model.
pub(crate) fn of_work(work: &Work) -> Nanos {
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let ns = work.short_lived as f64 * SHORT_PAIR_NS
        + work.pairs.saturating_sub(work.short_lived) as f64 * PAIR_NS
        + work.reallocations as f64 * REALLOCATION_NS
        + kib(work.copied_bytes) * COPY_NS_PER_KIB
        + work.rehashed as f64 * REHASH_NS
        + kib(work.fresh_bytes) * FRESH_NS_PER_KIB;
    Nanos(ns as u64)
}

/// What a site's calls of the allocator cost, by the model.
pub fn of_site(site: &Site) -> Nanos {
    of_work(&Work::of_site(site))
}

/// What it costs at most to fault pages in again that each of these places had before: its large blocks are mapped anew each time. No
/// call of the allocator takes that time, but whoever writes to the block first. Pages that stay, or are needed at the same time,
/// are no loss. It is bounded by the time in the kernel, since huge pages cost less and untouched ones nothing; where that
/// was not measured, or allocators keep such pages or take the time in their calls, it is not known. 60 blocks of 64 MiB, one after
/// the other: 1.6 s by this, 1.7 s in the kernel with glibc, 1.6 s with jemalloc, 0.6 s with mimalloc.
pub fn of_pages_again(analysis: &Analysis) -> Nanos {
    let returns = |process: &Process| allocator::by_name(&process.allocator).new_pages.is_some();
    if !analysis.processes.iter().all(returns) {
        return Nanos(0);
    }
    let again = analysis.sites().iter().map(|site| bytes_again(site).0).sum();
    let by_model = of_work(&Work { fresh_bytes: again, ..Work::default() });
    by_model.min(Nanos(analysis.end.as_ref().map_or(0, |end| end.system_ns)))
}

/// Bytes of a place's large blocks beyond those that it needed at the peak.
pub(crate) fn bytes_again(site: &Site) -> Bytes {
    Bytes(Work::of_site(site).fresh_bytes.saturating_sub(site.peak_bytes.0))
}

/// What a change saves of the time of calls that was measured. A call that is timed cannot overlap with what is around it, so a
/// loop of pairs that takes 8.5 ns for each measures 20; but what is around a call (copying, the caches, code that drops values) is
/// saved as well. With this the pairs of `heapwise lab contest` and of the habits lie evenly around what they save (geometric mean
/// 0.95); five of eight are within a factor of 1.5 (docs/findings.md).
const SAVED_OF_MEASURED: f64 = 0.85;
/// With fewer measured calls, or an error of more than one part in so many, the model is as good.
const LEAST_SAMPLES: u64 = 32;
const LEAST_PRECISION: u64 = 4;
/// What is measured contains rare events, such as a page fault or an interrupt, and is not believed beyond this.
const MOST_TIMES_THE_MODEL: f64 = 10.0;

/// How many times what the model says the calls of some sites really cost, from those that were measured. If too few were, or they
/// differ too much, it is as many times as for all sites of the program: findings are compared with each other.
pub(crate) fn correction(analysis: &Analysis, sites: &[SiteId]) -> f64 {
    own_correction(analysis, sites).or_else(|| correction_of_all(analysis)).unwrap_or(1.0)
}

/// The same without the other sites. `None` if too few calls were measured, or they differ too much.
pub(crate) fn own_correction(analysis: &Analysis, sites: &[SiteId]) -> Option<f64> {
    of_sites(sites.iter().filter_map(|id| analysis.sites().get(id.0 as usize)))
}

/// The same of all calls of the program.
pub(crate) fn correction_of_all(analysis: &Analysis) -> Option<f64> {
    of_sites(analysis.sites().iter())
}

fn of_sites<'a>(all: impl Iterator<Item = &'a Site>) -> Option<f64> {
    let timed = all.filter_map(|site| Some((site, site.allocator_time?)));
    let (mut model, mut variance, mut samples, mut measured) = (0, 0.0, 0, 0);
    for (site, time) in timed {
        model += of_site(site).0;
        variance += (time.error.0 as f64).powi(2);
        samples += time.samples;
        measured += time.time.0;
    }
    of_measured(
        Nanos(model),
        &AllocatorTime { time: Nanos(measured), error: Nanos(variance.sqrt() as u64), samples },
    )
}

fn of_measured(model: Nanos, measured: &AllocatorTime) -> Option<f64> {
    let is_precise = measured.error.0.saturating_mul(LEAST_PRECISION) <= measured.time.0;
    if measured.samples < LEAST_SAMPLES || !is_precise || model.0 == 0 || measured.time.0 == 0 {
        return None;
    }
    let times = SAVED_OF_MEASURED * measured.time.0 as f64 / model.0 as f64;
    Some(times.clamp(MOST_TIMES_THE_MODEL.recip(), MOST_TIMES_THE_MODEL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Program;

    #[test]
    fn calls_that_were_measured_correct_the_model() {
        let of = |time, error, samples| {
            let measured = AllocatorTime { time: Nanos(time), error: Nanos(error), samples };
            of_measured(Nanos(25_000), &measured)
        };
        assert!(of(50_000, 1_000, 100).is_some_and(|times| (times - 1.7).abs() < 1e-9));
        assert_eq!(of(50_000, 1_000, 31), None, "too few");
        assert_eq!(of(50_000, 12_501, 100), None, "too imprecise");
        assert_eq!((of(50_000_000, 1_000, 100), of(100, 1, 100)), (Some(10.0), Some(0.1)));
        assert_eq!(of(0, 0, 0), None, "none");
    }

    #[test]
    fn pages_cost_again_where_large_blocks_come_and_go() {
        let with = |allocator: &str, blocks: &[u64], is_freed: bool| {
            let mut p = Program::default();
            let stack = p.stack(&["main|/u/src/a.c|7"]);
            for &size in blocks {
                let block = p.alloc(stack, size);
                if is_freed {
                    p.free(block);
                }
            }
            let mut analysis = p.analysis();
            analysis.processes[0].allocator = allocator.into();
            assert_eq!(of_pages_again(&analysis), Nanos(0), "the time in the kernel is not known");
            analysis.end.as_mut().expect("it ended").system_ns = 30_000_000;
            of_pages_again(&analysis)
        };
        let again = |blocks: &[u64], is_freed| with("/lib/libc.so.6", blocks, is_freed);
        assert_eq!(again(&[UNMAPPED_FROM; 3], true), Nanos(2 * 32 * 1024 * 415));
        assert_eq!(again(&[UNMAPPED_FROM; 4], true), Nanos(30_000_000), "as long as it was in the kernel");
        assert_eq!(again(&[UNMAPPED_FROM - 1; 4], true), Nanos(0), "glibc keeps these");
        assert_eq!(again(&[UNMAPPED_FROM; 4], false), Nanos(0), "all are needed");
        assert_eq!(with("mimalloc", &[UNMAPPED_FROM; 4], true), Nanos(0), "that is not known");
    }

    #[test]
    fn each_kind_of_work_costs_something_and_short_lived_blocks_least() {
        let cost = |work: Work| of_work(&work).0;
        let plain = cost(Work { pairs: 1000, ..Work::default() });
        let short = cost(Work { pairs: 1000, short_lived: 1000, ..Work::default() });
        assert_eq!((plain, short), (25_000, 8_500));
        assert!(cost(Work { reallocations: 1000, ..Work::default() }) > short);
        assert_eq!(cost(Work { copied_bytes: 1 << 20, ..Work::default() }), 22 * 1024);
        assert!(cost(Work { fresh_bytes: 1 << 20, ..Work::default() }) > 400_000);
        assert_eq!(cost(Work::default()), 0);
    }
}
