//! The way that nearly all events take.

use super::growth::Fresh;
use super::ledger::{Ledger, ProcessLedger};
use super::live::{Block, LiveBlocks, MOST_REALLOCATIONS, Tick, cut_size};
use super::timing::{Call, LastCall};
use crate::totals::Totals;
use crate::units::Bytes;
use heapwise_trace::event::{AllocatorNumber, Event};

/// How many events before its turn the memory of a block is asked for. PERF: 8 and 32 are as good.
pub(crate) const BEFORE: usize = 16;

/// PERF: has the memory of an event's block brought into the cache while other events are done.
#[inline(always)]
fn ask_for(event: &Event, blocks: &LiveBlocks) {
    if let Event::Alloc { address, .. } | Event::Free { address, .. } = *event {
        blocks.prefetch(address.0);
    }
}

impl Ledger {
    /// An event of the thread comes [`BEFORE`] events later.
    #[inline(always)]
    pub(crate) fn expect(&self, thread: u32, event: &Event) {
        let process = self.threads[thread as usize].process;
        ask_for(event, &self.processes[process as usize].blocks);
    }

    /// Does about `most` events one after another as long as they are plain: allocations by known stacks and frees, possible as
    /// they come, with nothing done out of turn. Says how many it did. `looked_at` is of how many the blocks were looked
    /// at by then.
    ///
    /// PERF: this is [`Ledger::apply`] for nearly all events of nearly all recordings, with everything that changes at
    /// every event in local variables. It takes half as long; a test holds the two against each other.
    /// Where the budget has no room for a block that is freed by the next event, this counts both and that does not.
    #[inline(never)]
    pub(crate) fn run(&mut self, thread: u32, events: &[Event], most: usize, looked_at: &mut usize) -> usize {
        if self.late || self.reconciler.open || self.sampling.is_on() {
            return 0;
        }
        let (many, shared) = (self.many, self.shared);
        let number = self.threads[thread as usize].process;
        let ProcessLedger {
            blocks,
            touched_pages,
            touched_by,
            sites: sites_of_stacks,
            live: process_live,
            ..
        } = &mut self.processes[number as usize];
        let (has_others, site_allocators) = (self.has_others, self.site_allocators.as_slice());
        let sites = self.sites.as_mut_slice();
        let (now, mut peaks, mut overall) = (Tick::at(self.now_ns), self.peaks, self.overall);
        let mut highest = self.timeline.highest;
        let recent = &mut self.recent[thread as usize];
        let mut fresh = self.threads[thread as usize].fresh;
        let mut last_call = self.threads[thread as usize].last_call;
        let mut counts = Totals::default();
        let mut done = 0;
        while done < most
            && let Some(event) = events.get(done)
        {
            while *looked_at <= done + BEFORE
                && let Some(next) = events.get(*looked_at)
            {
                ask_for(next, blocks);
                *looked_at += 1;
            }
            match *event {
                Event::Alloc { address, size, stack, allocator, .. } => {
                    let Some(&site) = sites_of_stacks.get(stack.0 as usize) else { break };
                    let Some(stats) = sites.get_mut(site as usize) else { break };
                    let mut of_allocator = None;
                    if has_others || allocator != AllocatorNumber::BY_NAME {
                        if site_allocators.get(site as usize) != Some(&allocator) {
                            break;
                        }
                        of_allocator = touched_by.iter_mut().find(|(number, _)| *number == allocator);
                        if of_allocator.is_none() && allocator != AllocatorNumber::BY_NAME {
                            break;
                        }
                    }
                    // PERF: what is freed at once need not be found again.
                    let next = events.get(done + 1);
                    let is_temporary =
                        matches!(next, Some(Event::Free { address: freed, .. }) if *freed == address);
                    let is_new = if is_temporary {
                        !blocks.contains(address.0)
                    } else {
                        let slot = recent.slot();
                        let block = Block { size, born: now, site, thread, reallocations: 0, slot };
                        blocks.insert(address.0, block)
                    };
                    if !is_new {
                        break;
                    }
                    touched_pages.mark(address.0, size);
                    if let Some((_, touched)) = of_allocator {
                        touched.mark(address.0, size);
                    }
                    let size = cut_size(size);
                    counts.allocations += 1;
                    counts.allocated_bytes += Bytes(size);
                    if is_temporary {
                        recent.pass();
                        fresh = Fresh::default();
                        last_call = LastCall { site, call: Call::Free, size };
                    } else {
                        recent.push(address.0);
                        fresh = Fresh::new(site, size);
                        last_call = LastCall { site, call: Call::Alloc, size };
                    }
                    stats.allocations += 1;
                    stats.allocated_bytes = stats.allocated_bytes.wrapping_add(size);
                    stats.gain(size, peaks);
                    self.sizes.add(size);
                    if many.threads {
                        self.threads[thread as usize].live.add(size);
                    }
                    if many.processes {
                        process_live.add(size);
                    }
                    if overall.add(size) {
                        peaks += 1;
                        self.peak_ns = self.now_ns;
                    }
                    highest = highest.max(overall.bytes);
                    if is_temporary {
                        if shared {
                            self.reconciler.log_free((number, address.0), thread);
                        }
                        counts.deallocations += 1;
                        counts.temporary_allocations += 1;
                        stats.deallocations += 1;
                        stats.lifetimes.add(stats.deallocations, 0);
                        stats.freed_after.add(0);
                        stats.lose(size, peaks);
                        if many.threads {
                            self.threads[thread as usize].live.remove(size);
                        }
                        if many.processes {
                            process_live.remove(size);
                        }
                        overall.remove(size);
                        done += 1;
                    }
                }
                Event::Free { address, .. } => {
                    let Some(block) = blocks.remove(address.0) else { break };
                    if shared {
                        self.reconciler.log_free((number, address.0), thread);
                    }
                    counts.deallocations += 1;
                    let stats = &mut sites[block.site as usize];
                    stats.deallocations += 1;
                    stats.lifetimes.add(stats.deallocations, now.since_ns(block.born));
                    let before = std::mem::take(&mut fresh);
                    last_call = LastCall { site: block.site, call: Call::Free, size: block.size };
                    let is_succeeded = before.succeeds(&block) && recent.last() != address.0;
                    if is_succeeded {
                        stats.copied_bytes = stats.copied_bytes.wrapping_add(block.size);
                        blocks.set_reallocations(
                            recent.last(),
                            (block.reallocations + 1).min(MOST_REALLOCATIONS),
                        );
                    } else if block.reallocations > 0 {
                        stats.add_growth(block.reallocations, block.size);
                    }
                    if block.thread != thread {
                        stats.hand_over((block.thread, thread), 1);
                        self.handovers.add((block.thread, thread), 1, block.size);
                        self.threads[block.thread as usize].freed_elsewhere += 1;
                    } else if let Some(others) = recent.take(address.0, block.slot)
                        && !is_succeeded
                    {
                        counts.temporary_allocations += u64::from(others == 0);
                        stats.freed_after.add(others);
                    }
                    let size = block.size;
                    stats.lose(size, peaks);
                    if many.threads {
                        self.threads[block.thread as usize].live.remove(size);
                    }
                    if many.processes {
                        process_live.remove(size);
                    }
                    overall.remove(size);
                }
                Event::Timed { ticks } => {
                    if let Some(stats) = sites.get_mut(last_call.site as usize) {
                        stats.times.get_or_insert_default().add(last_call.call, last_call.size, ticks);
                    }
                }
                _ => break,
            }
            done += 1;
        }
        let ledger = &mut self.threads[thread as usize];
        ledger.fresh = fresh;
        ledger.last_call = last_call;
        ledger.counts.add_counts(&counts);
        (self.peaks, self.overall, self.timeline.highest) = (peaks, overall, highest);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, StackId};
    use proptest::prelude::*;

    /// Two processes with a thread each, or one process with two threads, or one thread.
    fn ledger(many: u8) -> Ledger {
        let mut ledger = Ledger::default();
        let first = ledger.add_process();
        ledger.add_thread(first);
        match many {
            1 => {
                ledger.add_thread(first);
            }
            2 => {
                let second = ledger.add_process();
                ledger.add_thread(second);
            }
            _ => {}
        }
        ledger
    }

    fn facts(ledger: &mut Ledger) -> String {
        let now = format!("{:?} {:?} {:?}", ledger.overall, ledger.sizes, ledger.timeline);
        ledger.share_gauges();
        let threads: Vec<_> = ledger
            .threads
            .iter()
            .map(|t| (t.counts, t.live, t.freed_elsewhere, t.fresh, t.last_call))
            .collect();
        let processes: Vec<_> = ledger.processes.iter().map(|p| p.live).collect();
        format!(
            "{now} {threads:?} {processes:?} {:?} {:?} {:?} {} {}",
            ledger.recent, ledger.sites, ledger.handovers.rest, ledger.peaks, ledger.peak_ns
        )
    }

    /// What one thread does in one epoch, from numbers.
    fn events(steps: &[(u64, u64, u32, u8)]) -> Vec<Event> {
        let of = |&(address, size, stack, what): &(u64, u64, u32, u8)| {
            let address = BlockAddress(address * 8);
            let (function, stack) = (AllocFunction::Malloc, StackId(stack));
            let allocator = AllocatorNumber::BY_NAME;
            let alloc = Event::Alloc { address, size, align_log2: 0, allocator, function, stack };
            let free = Event::Free { address, touched: None };
            let timed = Event::Timed { ticks: size as u32 };
            match what {
                0 => vec![alloc],
                1 => vec![free],
                2 => vec![alloc, free],
                3 => vec![alloc, free, timed],
                4 => vec![alloc, timed, free],
                _ => vec![timed],
            }
        };
        steps.iter().flat_map(of).collect()
    }

    proptest! {
        #[test]
        fn the_fast_way_does_what_the_other_one_does(
            many in 0u8..3,
            shared in any::<bool>(),
            most in 1usize..50,
            epochs in proptest::collection::vec(
                (0u32..2, proptest::collection::vec((0u64..40, 0u64..5000, 0u32..6, 0u8..6), 0..100)), 0..12),
        ) {
            let (mut fast, mut slow) = (ledger(many), ledger(many));
            for (i, (thread, steps)) in epochs.into_iter().enumerate() {
                let (thread, events) = (if many == 0 { 0 } else { thread }, events(&steps));
                let time = i as u64 * 100_000;
                // Several turns in an epoch, of one thread or of two.
                if i % 4 == 0 {
                    fast.open_epoch(i as u64, time, false, shared);
                    slow.open_epoch(i as u64, time, false, shared);
                }
                let do_or_force = |ledger: &mut Ledger, event| {
                    let is_possible = ledger.apply(thread, event);
                    if !is_possible {
                        ledger.force(thread, event);
                    }
                    is_possible
                };
                let impossible = events.iter().filter(|event| !do_or_force(&mut slow, event)).count();
                let (mut at, mut looked_at, mut refused) = (0, 0, 0);
                while at < events.len() {
                    let done = fast.run(thread, &events[at..], most, &mut looked_at);
                    at += done;
                    looked_at -= done;
                    if let Some(event) = events.get(at) {
                        refused += usize::from(!do_or_force(&mut fast, event));
                        at += 1;
                        looked_at = looked_at.saturating_sub(1);
                    }
                }
                prop_assert_eq!(refused, impossible);
            }
            fast.close_epoch();
            slow.close_epoch();
            prop_assert_eq!(facts(&mut fast), facts(&mut slow));
        }
    }
}
