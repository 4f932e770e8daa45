//! `rounding-waste`: the allocator adds much to each request, since the requests are small or just above a size class.

use super::{Finding, Rule};
use crate::insight::{Certainty, Estimate};
use crate::rule_input::RuleInput;
use crate::units::{bytes, count, share};
use heapwise_analysis::{Bytes, Nanos, Site};

pub(crate) struct RoundingWaste;

const LEAST_BYTES: u64 = 1 << 20;

impl Rule for RoundingWaste {
    fn id(&self) -> &'static str {
        "rounding-waste"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Finding<'a>> {
        let Some(peak) = input.analysis.accounting.at_peak.as_ref() else { return Vec::new() };
        if peak.rounding.0 < LEAST_BYTES || peak.rounding.0 * 5 < peak.live.0 {
            return Vec::new();
        }
        let mut sites: Vec<(&Site, u64)> =
            input.analysis.sites().iter().map(|s| (s, likely_waste(s))).collect();
        sites.sort_by_key(|(site, waste)| (std::cmp::Reverse(*waste), site.id));
        sites.truncate(3);
        let of = |id| input.places.iter().find(|p| p.seen.iter().any(|seen| seen.site.id == id));
        let place = sites.first().and_then(|(site, _)| of(site.id));
        let mut evidence = vec![format!(
            "at the peak the allocator had added {} to {} of requests ({})",
            bytes(peak.rounding.0),
            bytes(peak.live.0),
            share(peak.rounding.0, peak.live.0)
        )];
        evidence.extend(sites.iter().filter(|s| s.1 > 0).filter_map(|(site, _)| {
            let size = site.sizes.quantile(0.5)?.0;
            let label = of(site.id).map_or_else(|| "an unnamed place".into(), |p| p.label());
            Some(format!("{label} had {} blocks of about {}", count(site.peak_blocks), bytes(size)))
        }));
        vec![Finding {
            certainty: Certainty::Certain,
            title: format!("{} are lost to rounding of small or odd sizes", bytes(peak.rounding.0)),
            place,
            sites: sites.iter().map(|(site, _)| site.id).collect(),
            evidence,
            estimate: Estimate { allocations: 0, allocated_bytes: Bytes(0), peak_bytes: peak.rounding, time: Nanos(0) },
            remedy: "Put small values together: `Vec<T>` in place of `Vec<Box<T>>`, `Box<str>` or an inline string in place of \
                `String`. Let finished buffers go to size: `v.shrink_to_fit();` or `v.into_boxed_slice()`."
                .into(),
        }]
    }
}

/// What rounding to 16 bytes and a header of 8 would add to a site's blocks at the peak: only for the order of sites.
fn likely_waste(site: &Site) -> u64 {
    let size = site.sizes.quantile(0.5).map_or(0, |b| b.0);
    let usable = (size + 8).next_multiple_of(16).max(32) - 8;
    (usable - size) * site.peak_blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BOXED, Program, user};
    use heapwise_analysis::Breakdown;

    #[test]
    fn much_rounding_is_reported_with_the_sites_that_ask_for_odd_sizes() {
        let mut p = Program::default();
        let odd = p.stack(&user(BOXED, "app::odd|/u/src/a.rs|7"));
        let even = p.stack(&user(BOXED, "app::even|/u/src/a.rs|17"));
        (0..1000).for_each(|_| {
            p.alloc(odd, 9);
            p.alloc(even, 120);
        });
        let mut analysis = p.analysis();
        let found = |analysis: &heapwise_analysis::Analysis| {
            let all = crate::testing::all(analysis).into_iter();
            all.filter(|i| i.id == "rounding-waste").collect::<Vec<_>>()
        };
        let breakdown = |rounding: u64| Breakdown {
            rss: Bytes(64 << 20),
            live: Bytes(20 << 20),
            rounding: Bytes(rounding),
            ..Breakdown::default()
        };
        analysis.accounting.at_peak = Some(breakdown(2 << 20));
        assert_eq!(found(&analysis), []);
        analysis.accounting.at_peak = Some(breakdown(10 << 20));
        let insights = found(&analysis);
        assert_eq!(insights[0].title, "10.0 MiB are lost to rounding of small or odd sizes");
        assert_eq!(insights[0].site, Some(p.site(&analysis, odd)));
        assert!(
            insights[0].evidence[1].contains("odd (a.rs:7) had 1,000 blocks of about 9 B"),
            "{:?}",
            insights[0].evidence
        );
    }
}
