//! Call sites as columns of numbers.

use super::HtmlOptions;
use super::strings::Strings;
use super::tree::Tree;
use heapwise_analysis::{Analysis, Site};
use heapwise_diagnosis::estimated_time;
use serde::Serialize;

/// A row per site, in the order of [`Analysis::sites`].
#[derive(Debug, Default, Serialize)]
pub(super) struct Sites {
    /// The node of the innermost frame.
    node: Vec<u32>,
    /// The node of the user's nearest frame, or -1.
    user: Vec<i64>,
    allocations: Vec<u64>,
    bytes: Vec<u64>,
    reallocations: Vec<u64>,
    temporary: Vec<u64>,
    peak_bytes: Vec<u64>,
    peak_blocks: Vec<u64>,
    exit_bytes: Vec<u64>,
    exit_blocks: Vec<u64>,
    other_thread: Vec<u64>,
    failed: Vec<u64>,
    /// Quantiles of the lifetime in nanoseconds, -1 for a site without freed blocks.
    p50: Vec<i64>,
    p99: Vec<i64>,
    /// Nanoseconds that the calls are estimated to take.
    estimate: Vec<u64>,
    /// Empty unless measured.
    time: Vec<u64>,
    /// Empty unless measured.
    pinned: Vec<u64>,
    /// Recorded requests; empty unless the recording is a sample.
    samples: Vec<u64>,
}

impl Sites {
    pub(super) fn new(
        analysis: &Analysis,
        options: &HtmlOptions<'_>,
        tree: &mut Tree<'_>,
        strings: &mut Strings,
    ) -> Self {
        let mut sites = Self::default();
        for site in analysis.sites() {
            sites.push(site, tree, strings);
        }
        if analysis.sampled.is_some() {
            sites.samples = analysis.sites().iter().map(|site| site.samples).collect();
        }
        let n = analysis.sites().len();
        if let Some(times) = options.allocator_time.filter(|times| times.len() == n) {
            sites.time = times.iter().map(|time| time.0).collect();
        }
        let pinned = &analysis.accounting.pinned;
        if !pinned.is_empty() {
            sites.pinned = vec![0; n];
            for pin in pinned {
                if let Some(bytes) = sites.pinned.get_mut(pin.site.0 as usize) {
                    *bytes = pin.bytes.0;
                }
            }
        }
        sites
    }

    fn push(&mut self, site: &Site, tree: &mut Tree<'_>, strings: &mut Strings) {
        let node = tree.enter(site, strings);
        self.node.push(node);
        self.user.push(site.user_frame.map_or(-1, |i| i64::from(tree.outwards(node, i))));
        self.allocations.push(site.allocations);
        self.bytes.push(site.allocated_bytes.0);
        self.reallocations.push(site.reallocations);
        self.temporary.push(site.freed_after.temporary());
        self.peak_bytes.push(site.peak_bytes.0);
        self.peak_blocks.push(site.peak_blocks);
        self.exit_bytes.push(site.live_at_exit_bytes.0);
        self.exit_blocks.push(site.live_at_exit_blocks);
        self.other_thread.push(site.freed_on_other_thread);
        self.failed.push(site.failed_allocations);
        self.estimate.push(estimated_time(site).0);
        let quantile = |share| site.lifetimes.quantile(share).map_or(-1, |n| n.0 as i64);
        self.p50.push(quantile(0.5));
        self.p99.push(quantile(0.99));
    }

    /// The frame of the user in a site.
    pub(super) fn user_frame(&self, site: usize, tree: &Tree<'_>) -> Option<u32> {
        let node = u32::try_from(*self.user.get(site)?).ok()?;
        Some(tree.frame_of(node))
    }

    /// The sites with the most of each measure, `most` of each.
    pub(super) fn leaders(&self, most: usize) -> Vec<usize> {
        let measures = [
            &self.allocations,
            &self.bytes,
            &self.temporary,
            &self.peak_bytes,
            &self.exit_bytes,
            &self.time,
            &self.pinned,
        ];
        let mut leaders = Vec::new();
        for measure in measures {
            let mut sites: Vec<usize> = (0..measure.len()).filter(|&site| measure[site] > 0).collect();
            sites.sort_by_key(|&site| std::cmp::Reverse(measure[site]));
            sites.truncate(most);
            leaders.extend(sites);
        }
        leaders
    }
}
