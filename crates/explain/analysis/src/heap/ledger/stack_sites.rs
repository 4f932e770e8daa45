//! Which site a stack of a process has.

use super::{Ledger, ProcessLedger};
use crate::budget::price;
use crate::heap::site::SiteStats;
use heapwise_trace::event::{AllocatorNumber, StackId};

/// No site yet for a stack.
const NO_SITE: u32 = u32::MAX;
/// Stack ids beyond what a recorder can have handed out only occur in damaged recordings.
const STACK_LIMIT: u32 = 1 << 26;

/// Stacks that have a place in the table of sites in any case, and as many more for each site that there is: of the nodes of a
/// program, one in ten or twenty is the end of a stack.
const NEAR_STACKS: usize = 1 << 20;
const NEAR_STACKS_PER_SITE: usize = 64;

impl Ledger {
    /// The site of a stack, for what is no block.
    #[inline(always)]
    pub(super) fn site(&mut self, process: u32, stack: StackId) -> u32 {
        self.first_site(process, stack, AllocatorNumber::BY_NAME)
    }

    /// The site of the blocks that an allocator hands out to a stack.
    #[inline(always)]
    pub(super) fn site_of(&mut self, process: u32, stack: StackId, allocator: AllocatorNumber) -> u32 {
        self.has_others |= allocator != AllocatorNumber::BY_NAME;
        let site = self.first_site(process, stack, allocator);
        match self.has_others && self.allocator_of(site) != allocator {
            true => self.other_site(process, stack, allocator),
            false => site,
        }
    }

    #[inline(always)]
    fn first_site(&mut self, process: u32, stack: StackId, allocator: AllocatorNumber) -> u32 {
        match self.processes[process as usize].sites.get(stack.0 as usize) {
            Some(&site) if site != NO_SITE => site,
            _ => self.new_site(process, stack, allocator),
        }
    }

    #[cold]
    fn new_site(&mut self, process: u32, stack: StackId, allocator: AllocatorNumber) -> u32 {
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
            return self.any_site(process);
        }
        let site = self.sites.len() as u32;
        *n_sites += 1;
        if is_far {
            far_sites.insert(stack, site);
        } else {
            sites.resize(len, NO_SITE);
            sites[at] = site;
        }
        self.add_site(process, stack, allocator)
    }

    /// The site of a stack whose first one has blocks of another allocator.
    #[cold]
    fn other_site(&mut self, process: u32, stack: StackId, allocator: AllocatorNumber) -> u32 {
        let stack = if stack.0 < STACK_LIMIT { stack } else { StackId::UNKNOWN };
        let key = (process, stack, allocator);
        if let Some(&site) = self.other_sites.get(&key) {
            return site;
        }
        if !self.budget.keep(price::SITE) {
            return self.any_site(process);
        }
        let site = self.add_site(process, stack, allocator);
        self.other_sites.insert(key, site);
        site
    }

    fn add_site(&mut self, process: u32, stack: StackId, allocator: AllocatorNumber) -> u32 {
        self.sites.push(SiteStats::default());
        self.site_stacks.push((process, stack));
        self.site_allocators.push(allocator);
        self.sites.len() as u32 - 1
    }

    /// Without room reading ends behind this section. Until then any site has to do.
    fn any_site(&mut self, process: u32) -> u32 {
        if self.sites.is_empty() {
            self.add_site(process, StackId::UNKNOWN, AllocatorNumber::BY_NAME);
        }
        0
    }
}
