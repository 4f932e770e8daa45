//! `leak-suspect`: a line whose blocks are never freed and become more and more.
//!
//! Whether a pointer to them is left is not seen, so this is a hint. What is kept on purpose is made at the start, or
//! at least not until the end: a suspect needs blocks from nearly all parts of its process's life, the last one included.
//!
//! A service frees some of what a line allocates and keeps the rest. Of a sample, a line is a suspect, too, if what it frees it frees soon.

use super::{Occurrence, Rule};
use crate::finding::{Certainty, Estimate};
use crate::rule_input::{Language, RuleInput};
use crate::survival::kept_share;
use crate::units::{bytes, count, time};
use heapwise_analysis::{Bytes, EXIT_PARTS, Measure, Nanos, Site};

pub(crate) struct LeakSuspect;

const LEAST_BLOCKS: u64 = 64;
const LEAST_BYTES: u64 = 256 << 10;
/// A process that is over sooner has no need to free anything.
const SHORTEST: Nanos = Nanos(500_000_000);

impl Rule for LeakSuspect {
    fn id(&self) -> &'static str {
        "leak-suspect"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        if input.analysis.duration < SHORTEST {
            return Vec::new();
        }
        let (is_sample, run) = (input.analysis.sampled.is_some(), input.analysis.duration);
        let places = input.places.iter().filter_map(|place| {
            let part = place.part_where(|seen| {
                let site = seen.site;
                let is_kept = || match site.deallocations {
                    0 => true,
                    _ => is_sample && rests_on_samples(site) && kept_share(site, run).is_some(),
                };
                site.live_at_exit_blocks > 0 && is_rising(&site.exit_births) && is_kept()
            })?;
            let left: u64 = part.sites.iter().map(|s| s.live_at_exit_bytes.0).sum();
            if part.exit_blocks < LEAST_BLOCKS || left < LEAST_BYTES {
                return None;
            }
            let births = part.sites.iter().fold([0; EXIT_PARTS], |mut sum, site| {
                sum.iter_mut().zip(site.exit_births).for_each(|(a, b)| *a += b);
                sum
            });
            let freed: u64 = part.sites.iter().map(|s| s.deallocations).sum();
            let what = match freed {
                0 => format!("{} allocations here, and none was freed", count(part.allocations)),
                _ => {
                    let shares = part.sites.iter().filter_map(|site| kept_share(site, run));
                    let lived = part.sites.iter().filter_map(|site| site.lifetimes.quantile(0.99)).max();
                    format!(
                        "{:.1} % of the blocks from here outlive half of the run, and 99 % of those that are freed live at most {}",
                        shares.fold(0.0, f64::max) * 100.0,
                        time(lived.unwrap_or_default().0),
                    )
                }
            };
            let peak: u64 = part.sites.iter().map(|s| s.peak_bytes.0).sum();
            Some(Occurrence {
                certainty: Certainty::Hint,
                title: format!("{} keeps {} that nothing frees, and it grows", place.label(), bytes(left)),
                place: Some(place),
                sites: part.ids(),
                evidence: vec![
                    what,
                    format!(
                        "they come from the whole run: {} in its first half, {} in its second",
                        count(births[..EXIT_PARTS / 2].iter().sum()),
                        count(births[EXIT_PARTS / 2..].iter().sum())
                    ),
                ],
                estimate: Estimate { peak_bytes: Bytes(peak), ..Estimate::default() },
                remedy: match place.language {
                    Language::Rust => {
                        "Find what keeps them: a collection that is only added to, a cycle of `Rc`s (make one \
                        side `Weak`), `mem::forget` or `Box::leak`. A cache needs a bound."
                            .into()
                    }
                    Language::C => {
                        "Find the path without a `free(p);`, or the list that is only added to.".into()
                    }
                    Language::Cxx => {
                        "Hold them in `std::unique_ptr`, or bound the container that is only added to.".into()
                    }
                },
            })
        });
        places.collect()
    }
}

/// Whether enough samples are live at the end to say that anything is.
fn rests_on_samples(site: &Site) -> bool {
    let blocks = site.live_at_exit_blocks;
    Measure::LiveAtExitBlocks.interval(&site.variances, blocks).low * 2 >= blocks
}

/// Whether blocks come from nearly all parts of the life, among them the last one, and not mainly from its beginning: what fills up,
/// such as a pool, takes fewer and fewer.
fn is_rising(births: &[u64; EXIT_PARTS]) -> bool {
    let all: u64 = births.iter().sum();
    let parts = births.iter().filter(|n| **n > 0).count();
    let late: u64 = births[EXIT_PARTS / 2..].iter().sum();
    let is_from_all_over = parts >= EXIT_PARTS - 2 && births[EXIT_PARTS - 2..].iter().all(|n| *n > 0);
    is_from_all_over && births[0] * 2 <= all && late * 4 >= all
}

#[cfg(test)]
mod tests {
    use crate::testing::{BOXED, Program, user};

    #[test]
    fn blocks_that_only_become_more_are_reported_and_tables_of_the_start_are_not() {
        let mut p = Program::default();
        let start = p.stack(&user(BOXED, "app::tables|/u/src/a.rs|7"));
        let leak = p.stack(&user(BOXED, "app::serve|/u/src/a.rs|17"));
        let cache = p.stack(&user(BOXED, "app::cache|/u/src/a.rs|27"));
        (0..500).for_each(|_| _ = p.alloc(start, 4096));
        let mut cached = Vec::new();
        for _ in 0..500 {
            p.wait_ms(2);
            p.alloc(leak, 4096);
            cached.push(p.alloc(cache, 4096));
            if cached.len() > 100 {
                let oldest = cached.remove(0);
                p.free(oldest);
            }
        }
        let found = p.only("leak-suspect");
        assert_eq!(found.title, "serve (a.rs:17) keeps 1.95 MiB that nothing frees, and it grows");
        assert_eq!(found.estimate.peak_bytes.0, 500 * 4096);
    }

    #[test]
    fn of_a_sample_a_line_that_frees_most_of_its_blocks_soon_may_leak_the_rest() {
        let mut p = Program::default();
        p.sample(4096);
        let leak = p.stack(&user(BOXED, "app::serve|/u/src/a.rs|17"));
        for i in 0..2000 {
            p.wait_ms(1);
            let block = p.alloc(leak, 4096);
            if i % 10 != 0 {
                p.free(block);
            }
        }
        let found = p.only("leak-suspect");
        assert_eq!(found.title, "serve (a.rs:17) keeps 800 KiB that nothing frees, and it grows");
        assert!(
            found.evidence[0].starts_with("10.0 % of the blocks from here outlive"),
            "{:?}",
            found.evidence
        );
    }

    #[test]
    fn what_fills_up_is_no_leak() {
        for (n_late, n_found) in [(10, 0), (30, 1)] {
            let mut p = Program::default();
            let pool = p.stack(&user(BOXED, "app::pool|/u/src/a.rs|7"));
            for at in 0..100 {
                p.wait_ms(10);
                let n = if at < 50 { 100 - n_late } else { n_late };
                (0..n).for_each(|_| _ = p.alloc(pool, 4096));
            }
            assert_eq!(p.found("leak-suspect").len(), n_found, "{n_late} of 100 in the second half");
        }
    }
}
