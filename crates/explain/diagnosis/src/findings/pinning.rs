//! `pinning`: a few long-lived blocks keep pages resident that are otherwise empty.

use super::{Occurrence, Rule};
use crate::finding::{Certainty, Estimate};
use crate::rule_input::{Language, RuleInput};
use crate::units::{bytes, count, share};
use heapwise_analysis::{Bytes, Pinned};

pub(crate) struct Pinning;

/// Of the resident set.
const LEAST_SHARE: u64 = 20;
const LEAST_BYTES: u64 = 1 << 20;

impl Rule for Pinning {
    fn id(&self) -> &'static str {
        "pinning"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let accounting = &input.analysis.accounting;
        let Some(peak) = accounting.at_peak.as_ref() else { return Vec::new() };
        let places = input.places.iter().filter_map(|place| {
            let here: Vec<&Pinned> =
                accounting.pinned.iter().filter(|p| place.seen.iter().any(|seen| seen.site.id == p.site)).collect();
            let sum = |of: fn(&Pinned) -> u64| here.iter().map(|p| of(p)).sum::<u64>();
            let (pinned, blocks, pages) = (sum(|p| p.bytes.0), sum(|p| p.blocks), sum(|p| p.pages));
            if pinned < LEAST_BYTES || pinned * LEAST_SHARE < peak.rss.0 {
                return None;
            }
            Some(Occurrence {
                certainty: Certainty::Certain,
                title: format!("{}: {} blocks keep {} of pages resident", place.label(), count(blocks), bytes(pinned)),
                place: Some(place),
                sites: here.iter().map(|p| p.site).collect(),
                evidence: vec![
                    format!("{} blocks lie in {} pages that are otherwise free", count(blocks), count(pages)),
                    format!("that is {} of the resident set at its peak", share(pinned, peak.rss.0)),
                ],
                estimate: Estimate { peak_bytes: Bytes(pinned), ..Estimate::default() },
                remedy: match place.language {
                    Language::Rust => "Keep what lives long apart from what does not: allocate it first, or all together in one \
                        `Vec` or arena, or copy the few that stay when the others go (`kept.shrink_to_fit()` into new memory).",
                    Language::C | Language::Cxx => "Keep what lives long apart from what does not: allocate it first, or all \
                        together in one array or pool, or copy the few that stay when the others go.",
                }
                .into(),
            })
        });
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BOXED, Program, user};
    use heapwise_analysis::Breakdown;

    #[test]
    fn blocks_that_hold_many_pages_are_reported_and_few_pages_are_not() {
        let mut p = Program::default();
        let stack = p.stack(&user(BOXED, "app::keep|/u/src/a.rs|7"));
        (0..100).for_each(|_| _ = p.alloc(stack, 24));
        let mut analysis = p.analysis();
        let site = p.site(&analysis, stack);
        analysis.accounting.at_peak = Some(Breakdown { rss: Bytes(40 << 20), ..Breakdown::default() });
        let mut found_with = |bytes: u64| {
            analysis.accounting.pinned = vec![Pinned { site, bytes: Bytes(bytes), blocks: 60, pages: 3000 }];
            let found = crate::testing::all(&analysis);
            found.into_iter().filter(|i| i.id == "pinning").collect::<Vec<_>>()
        };
        assert_eq!(found_with(1 << 19), []);
        let found = found_with(12 << 20);
        assert_eq!(found[0].title, "keep (a.rs:7): 60 blocks keep 12.0 MiB of pages resident");
        assert_eq!((found[0].site, found[0].estimate.peak_bytes), (Some(site), Bytes(12 << 20)));
    }
}
