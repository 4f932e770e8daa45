//! `internal-fragmentation`: blocks are much larger than requested, since they are small or just above a size class.

use super::{Occurrence, Rule};
use crate::finding::{Certainty, Estimate};
use crate::rule_input::{Language, RuleInput};
use crate::units::{bytes, count, share};
use heapwise_analysis::Site;

pub(crate) struct InternalFragmentation;

const LEAST_BYTES: u64 = 1 << 20;

impl Rule for InternalFragmentation {
    fn id(&self) -> &'static str {
        "internal-fragmentation"
    }

    fn find<'a>(&self, input: &'a RuleInput<'a>) -> Vec<Occurrence<'a>> {
        let Some(peak) = input.analysis.accounting.at_peak.as_ref() else { return Vec::new() };
        if peak.internal_fragmentation.0 < LEAST_BYTES || peak.internal_fragmentation.0 * 5 < peak.live.0 {
            return Vec::new();
        }
        let mut sites: Vec<(&Site, u64)> =
            input.analysis.sites().iter().map(|s| (s, likely_waste(s))).collect();
        sites.sort_by_key(|(site, waste)| (std::cmp::Reverse(*waste), site.id));
        sites.truncate(3);
        let of = |id| input.places.iter().find(|p| p.seen.iter().any(|seen| seen.site.id == id));
        let place = sites.first().and_then(|(site, _)| of(site.id));
        let mut evidence = vec![format!(
            "{} live blocks had {} more than the {} requested ({})",
            input.analysis.moment(peak),
            bytes(peak.internal_fragmentation.0),
            bytes(peak.live.0),
            share(peak.internal_fragmentation.0, peak.live.0)
        )];
        evidence.extend(sites.iter().filter(|s| s.1 > 0).filter_map(|(site, _)| {
            let size = site.sizes.quantile(0.5)?.0;
            let label = of(site.id).map_or_else(|| "an unnamed place".into(), |p| p.label());
            Some(format!("{label} had {} blocks of about {}", count(site.peak_blocks), bytes(size)))
        }));
        vec![Occurrence {
            certainty: Certainty::Certain,
            title: format!("{} are lost to internal fragmentation: small sizes, or just above a size class", bytes(peak.internal_fragmentation.0)),
            place,
            sites: sites.iter().map(|(site, _)| site.id).collect(),
            evidence,
            estimate: Estimate { peak_bytes: peak.internal_fragmentation, ..Estimate::default() },
            remedy: match input.language(place) {
                Language::Rust => "Put small values together: `Vec<T>` in place of `Vec<Box<T>>`, `Box<str>` or an inline string in \
                    place of `String`. Let finished buffers go to size: `v.shrink_to_fit();` or `v.into_boxed_slice()`.",
                Language::Cxx => "Put small values together: `std::vector<T>` in place of `std::vector<std::unique_ptr<T>>`, \
                    `std::make_shared` in place of `std::shared_ptr<T>(new T)`. Let finished buffers go to size: `v.shrink_to_fit();`.",
                Language::C => "Put small values together in one array, or in a pool with blocks of their size; let a finished buffer \
                    go to size: `p = realloc(p, used);`.",
            }
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
    use crate::testing::{BOXED, Program, user};
    use heapwise_analysis::{Breakdown, Bytes};

    #[test]
    fn much_internal_fragmentation_is_reported_with_the_sites_that_ask_for_odd_sizes() {
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
            all.filter(|i| i.id == "internal-fragmentation").collect::<Vec<_>>()
        };
        let breakdown = |internal_fragmentation: u64| Breakdown {
            rss: Bytes(64 << 20),
            live: Bytes(20 << 20),
            internal_fragmentation: Bytes(internal_fragmentation),
            ..Breakdown::default()
        };
        analysis.accounting.at_peak = Some(breakdown(2 << 20));
        assert_eq!(found(&analysis), []);
        analysis.accounting.at_peak = Some(breakdown(10 << 20));
        let findings = found(&analysis);
        assert_eq!(
            findings[0].title,
            "10.0 MiB are lost to internal fragmentation: small sizes, or just above a size class"
        );
        assert_eq!(findings[0].site, Some(p.site(&analysis, odd)));
        assert!(
            findings[0].evidence[1].contains("odd (a.rs:7) had 1,000 blocks of about 9 B"),
            "{:?}",
            findings[0].evidence
        );
    }
}
