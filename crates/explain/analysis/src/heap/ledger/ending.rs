//! What is left when a process is gone.

use super::{Ledger, Taken};
use crate::analysis::EXIT_PARTS;
use crate::heap::live::Tick;
use crate::units::Bytes;

impl Ledger {
    /// The process is gone, and its heap with it.
    pub(crate) fn end_process(&mut self, process: u32) {
        let in_transit = self.threads.iter_mut().filter(|t| t.process == process);
        let in_transit: Vec<_> = in_transit.filter_map(|t| t.in_transit.take()).collect();
        let in_transit = in_transit.into_iter().filter_map(|(address, taken)| match taken {
            Taken::Live(block) => Some((address, block)),
            Taken::Gone(_) | Taken::Unknown => None,
        });
        let blocks = self.processes[process as usize].blocks.drain().chain(in_transit);
        let since_ns = self.processes[process as usize].since_ns;
        let (now, age) = (Tick::at(self.now_ns), self.now_ns - since_ns);
        let mut left = self.exits.begin(since_ns);
        let overall = self.overall;
        for (_, block) in blocks {
            let weight = self.sampling.weight(block.size);
            let size = block.size.wrapping_mul(weight);
            let is_carried = self.is_carried(&block);
            let site = &mut self.sites[block.site as usize];
            if weight > 1 {
                self.sample.exit(block.size, weight);
                site.sample.get_or_insert_default().exit(block.size, weight);
            }
            site.lifetimes.add_unended(now.since_ns(block.born), weight);
            if block.reallocations > 0 {
                site.add_growth(block.reallocations, size);
            }
            // How long before the end it was handed out, in parts of the process's life. What an earlier file has is of none.
            let before = u128::from(now.since_ns(block.born)) * EXIT_PARTS as u128 / u128::from(age.max(1));
            if !is_carried {
                let part = EXIT_PARTS - 1 - (before as usize).min(EXIT_PARTS - 1);
                site.exit_births.get_or_insert_default()[part] += weight;
            }
            site.exit_bytes = site.exit_bytes.wrapping_add(size);
            site.exit_blocks += weight;
            let counts = &mut self.threads[block.thread as usize].counts;
            counts.live_at_exit_bytes += Bytes(size);
            counts.live_at_exit_blocks += weight;
            self.processes[process as usize].exit.add_many(size, weight);
            let age_ns = now.since_ns(block.born);
            left.add(&self.exits, self.now_ns.saturating_sub(age_ns), size, weight);
            self.lose(process, &block);
        }
        self.exits.end(self.now_ns, left, overall);
    }

    /// Copies the overall gauge to the only thread or process, which had no separate one so far.
    pub(crate) fn share_gauges(&mut self) {
        let overall = self.overall;
        if !self.many.threads {
            self.threads.iter_mut().for_each(|t| t.live = overall);
        }
        if !self.many.processes {
            self.processes.iter_mut().for_each(|p| p.live = overall);
        }
    }
}
