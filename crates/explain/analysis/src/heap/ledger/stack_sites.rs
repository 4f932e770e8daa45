//! Which site a stack of a process has.

use super::{Ledger, ProcessLedger};
use crate::budget::price;
use crate::heap::site::SiteStats;
use heapwise_trace::event::StackId;

/// No site yet for a stack.
const NO_SITE: u32 = u32::MAX;
/// Stack ids beyond what a recorder can have handed out only occur in damaged recordings.
const STACK_LIMIT: u32 = 1 << 26;

/// Stacks that have a place in the table of sites in any case, and as many more for each site that there is: of the nodes of a
/// program, one in ten or twenty is the end of a stack.
const NEAR_STACKS: usize = 1 << 20;
const NEAR_STACKS_PER_SITE: usize = 64;

impl Ledger {
    /// The site of a stack.
    #[inline(always)]
    pub(super) fn site(&mut self, process: u32, stack: StackId) -> u32 {
        match self.processes[process as usize].sites.get(stack.0 as usize) {
            Some(&site) if site != NO_SITE => site,
            _ => self.new_site(process, stack),
        }
    }

    #[cold]
    fn new_site(&mut self, process: u32, stack: StackId) -> u32 {
        let stack = if stack.0 < STACK_LIMIT { stack } else { StackId::UNKNOWN };
        let ProcessLedger { sites, far_sites, n_sites, .. } = &mut self.processes[process as usize];
        let at = stack.0 as usize;
        let known = sites.get(at).copied().filter(|&site| site != NO_SITE);
        if let Some(site) = known.or_else(|| far_sites.get(&stack).copied()) {
            return site;
        }
        let is_far = at >= sites.len() && at >= NEAR_STACKS.max(*n_sites * NEAR_STACKS_PER_SITE);
        let len = if is_far { sites.len() } else { sites.len().max((at + 1).next_power_of_two()) };
        let growth = (len - sites.len()) * size_of::<u32>();
        if !self.budget.keep(price::SITE + growth as u64) {
            // Reading ends behind this section. Until then any site has to do.
            if self.sites.is_empty() {
                self.sites.push(SiteStats::default());
                self.site_stacks.push((process, StackId::UNKNOWN));
            }
            return 0;
        }
        let site = self.sites.len() as u32;
        *n_sites += 1;
        if is_far {
            far_sites.insert(stack, site);
        } else {
            sites.resize(len, NO_SITE);
            sites[at] = site;
        }
        self.sites.push(SiteStats::default());
        self.site_stacks.push((process, stack));
        site
    }
}
