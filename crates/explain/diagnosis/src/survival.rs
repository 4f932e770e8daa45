//! How many of a place's blocks are kept for good, where others are freed.
//!
//! Blocks that are live at the end have lived for a while, and for how much longer is not known. The share that survives an age is the
//! product of the shares that survive each part of it, each of those that were that old at all (Kaplan and Meier, Journal of the American
//! Statistical Association 53, 1958); how old live blocks are is known in eighths of the run. A block of a sample counts as many times as
//! it stands for.

use heapwise_analysis::{EXIT_PARTS, Nanos, Site};

/// Frees later than so many eighths of the run say that blocks are freed at any age: then which ones are kept is not known.
const SOON: f64 = 2.0;
/// Of a thousand blocks that are freed, how many may be freed later.
const LATE_PER_MILLE: u64 = 1;
/// Less than this share is what was just about to be freed.
const LEAST_SHARE: f64 = 0.005;

/// The share of a site's blocks that outlives half of a run of this length, if all others are freed soon; `None` if they are not, or
/// hardly any is kept.
pub(crate) fn kept_share(site: &Site, run: Nanos) -> Option<f64> {
    let freed: Vec<(f64, u64)> = site.lifetimes.steps().map(|(age, blocks)| (age.0 as f64, blocks)).collect();
    let width = (run.0 / EXIT_PARTS as u64).max(1) as f64;
    let all: u64 = freed.iter().map(|(_, blocks)| blocks).sum();
    let late: u64 = freed.iter().filter(|(age, _)| *age >= width * SOON).map(|(_, blocks)| blocks).sum();
    // What is young may just not be freed yet.
    if late * 1000 > all * LATE_PER_MILLE || live_beyond(site, width * SOON, width) <= 0.0 {
        return None;
    }
    let (mut survive, mut still_freed) = (1.0, all as f64);
    for (age, blocks) in freed {
        let at_risk = still_freed + live_beyond(site, age, width);
        survive *= 1.0 - blocks as f64 / at_risk;
        still_freed -= blocks as f64;
    }
    (survive >= LEAST_SHARE).then_some(survive)
}

/// How many blocks are live at the end that are older than an age. Of those of one part of the run, which is so long, ages are spread evenly.
fn live_beyond(site: &Site, age: f64, width: f64) -> f64 {
    // Those of the last part are the youngest.
    let parts = site.exit_births.iter().rev().enumerate();
    parts.map(|(i, &blocks)| blocks as f64 * (1.0 - (age / width - i as f64).clamp(0.0, 1.0))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BOXED, Program, user};

    /// The share of one place, at which a block is allocated each millisecond for a second. `keeps` says which ones are never freed; the
    /// others are freed after so many milliseconds.
    fn share(keeps: impl Fn(u64) -> bool, lifetime_ms: usize) -> Option<f64> {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, "app::serve|/u/src/a.rs|17"));
        let mut waiting = std::collections::VecDeque::new();
        for i in 0..1000 {
            p.wait_ms(1);
            let block = p.alloc(stack, 4096);
            if !keeps(i) {
                waiting.push_back((i, block));
            }
            while waiting.front().is_some_and(|(since, _)| since + lifetime_ms as u64 <= i) {
                let (_, block) = waiting.pop_front().expect("there is one");
                p.free(block);
            }
        }
        let analysis = p.analysis();
        let site = p.site(&analysis, stack);
        kept_share(&analysis.sites()[site.0 as usize], analysis.duration)
    }

    #[test]
    fn the_share_that_is_kept_is_found_whenever_the_others_are_freed() {
        for lifetime_ms in [1, 20, 100] {
            let found = share(|i| i % 5 == 0, lifetime_ms).expect("a fifth is kept");
            assert!((found - 0.2).abs() < 0.03, "{found} with {lifetime_ms} ms");
        }
        // The last ones that are freed soon are still live at the end, and are none of these.
        assert_eq!(share(|_| false, 20), None);
    }

    #[test]
    fn where_blocks_live_long_what_is_kept_is_not_known() {
        assert_eq!(share(|i| i % 5 == 0, 400), None);
        assert_eq!(share(|_| false, 900), None);
    }
}
