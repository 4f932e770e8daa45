//! Makes the tables at the end of a recording.

use crate::accounting::Accounting;
use crate::analysis::{Analysis, Growth, Handover, Memory, Process, Site, StackQuality, Thread};
use crate::analyze::{Options, Run};
use crate::heap::{GrowthCounts, SiteHandovers};
use crate::marks::Marks;
use crate::observer::Observer;
use crate::residency::Pages;
use crate::stacks::modules::Modules;
use crate::stacks::stack_table::{Entry, StackTable};
use crate::stacks::trie::{CUT, NodeId};
use crate::sums_by_allocator;
use crate::totals::Totals;
use crate::units::SiteId;
use crate::units::{Bytes, Nanos};
use crate::unnamed::Unnamed;
use crate::warning::Warning;
use heapwise_trace::event::{AllocatorNumber, Epoch};
use heapwise_trace::file::records::{EnvironmentFinding, Interception, ProcessIndex};
use rustc_hash::FxHashMap;

fn growth(counts: GrowthCounts) -> Growth {
    let GrowthCounts { buffers, steps, sizes, largest } = counts;
    Growth { buffers, steps, final_sizes: sizes.spread(buffers, largest) }
}

/// Many times what all checks together can find. A damaged or hostile file may claim any number, each of which is compared with
/// all before it.
const MOST_FINDINGS: usize = 256;

/// Ancestors of a process whose modules are searched.
const MOST_ANCESTORS: usize = 1024;

impl<O: Observer> Run<O> {
    pub(crate) fn finish(mut self, options: &Options) -> Unnamed {
        self.all_are_sampled();
        self.sequence_held();
        self.sequencer.finish();
        let duration = match &self.end {
            Some(end) if end.duration_ns > 0 => end.duration_ns,
            _ => self.sequencer.clock.last_ns(),
        };
        let (raw_sites, stack_table) = self.raw_sites();
        let threads = self.thread_tables();
        let (mut processes, totals) = self.process_tables(&threads);
        let thread_matrix = self.thread_matrix();
        let other_handovers = self.sequencer.ledger.handovers.rest;
        let stacks = self.stack_quality();
        // A forked child frees what it inherited, and a recording that began late what was there before.
        let forked = processes.iter().filter(|p| p.forked_from.is_some());
        let late = if self.meta.delay_ns > 0 || self.meta.interception.begins_late() {
            totals.unknown_frees
        } else {
            0
        };
        let expected = late.max(forked.map(|p| p.totals.unknown_frees).sum());
        let environment = self.environment();
        let ledger = &self.sequencer.ledger;
        let carried = ledger.carried;
        let sampled = ledger.sample.errors(ledger.sampling, ledger.peaks());
        if let Some(sample) = sampled {
            self.warnings.push(Warning::Sampled { sample, totals });
        }
        self.final_warnings(&totals, expected, &stacks);
        let end = self.end.as_ref();
        let found = end.map(|e| e.blind_spots.as_slice()).unwrap_or_default();
        let mut blind_spots = self.meta.blind_spots.clone();
        blind_spots.extend(found.iter().filter(|s| !self.meta.blind_spots.contains(s)).cloned());
        let peak_rss = end.map_or(0, |e| e.peak_rss_bytes).max(self.peak_rss);
        let marks = self.marks();
        let ledger = &mut self.sequencer.ledger;
        let mut memory = Memory {
            live: std::mem::take(&mut ledger.timeline),
            rss: self.rss,
            peak_rss: Bytes(peak_rss),
            shared_pages_count_once: self.end.as_ref().is_some_and(|e| e.shared_pages_count_once),
            live_peak_at: Nanos(if duration > 0 { ledger.peak_ns.min(duration) } else { ledger.peak_ns }),
        };
        memory.live.end_at(duration);
        memory.rss.end_at(duration);
        let mut residency = self.sequencer.residency;
        residency.finish(&ledger.site_allocators);
        let slots = residency.peak.as_ref().map(|peak| ledger.line_of(peak.slot)).unwrap_or_default();
        let touched_by = slots.first().map(|&slot| std::mem::take(&mut ledger.processes[slot].touched_by));
        let touched_pages =
            slots.into_iter().map(|slot| std::mem::take(&mut ledger.processes[slot].touched_pages));
        let of_site = std::mem::take(&mut ledger.site_allocators);
        let inside = self.end.iter().flat_map(|end| end.allocators_inside.iter().cloned());
        let raw = || of_site.iter().copied().zip(raw_sites.iter().map(|(_, site)| site));
        let allocators = sums_by_allocator::totals(raw(), &inside.collect::<Vec<_>>());
        let mut by_process = sums_by_allocator::by_process(raw());
        for process in &mut processes {
            process.allocators = by_process.remove(&process.index).unwrap_or_default();
        }
        let residency = Pages {
            residency,
            touched_pages: touched_pages.collect(),
            touched_by: touched_by.unwrap_or_default(),
            of_site: if allocators.iter().all(|of| of.number == AllocatorNumber::BY_NAME) {
                Vec::new()
            } else {
                of_site
            },
        };
        let mut analysis = Analysis {
            meta: self.meta,
            end: self.end,
            duration: Nanos(duration),
            totals,
            processes,
            threads,
            thread_matrix,
            other_handovers,
            memory,
            marks,
            accounting: Accounting::default(),
            allocators,
            residency,
            sampled,
            carried,
            sizes: std::mem::take(&mut ledger.sizes),
            stacks,
            blind_spots,
            environment,
            warnings: self.warnings,
            n_events: self.sequencer.n_events,
            sites: Vec::new(),
            raw_sites,
            stacks_of_raw: std::mem::take(&mut ledger.site_stacks),
            site_of_raw: Vec::new(),
            images: self.images,
            stack_table,
            names: Default::default(),
            symbols: if options.ignore_symbols { Vec::new() } else { self.symbols },
            stacks_by_name: Default::default(),
        };
        for (node, site) in &analysis.raw_sites {
            let captures = site.allocations + site.reallocations + site.failed_allocations;
            let is_cut = analysis.stack_table.trie.root(*node) == CUT;
            analysis.stacks.captures += captures;
            analysis.stacks.cut_captures += if is_cut { captures } else { 0 };
        }
        Unnamed(analysis)
    }

    fn marks(&mut self) -> Marks {
        let account = std::mem::take(&mut self.sequencer.ledger.marks);
        let names: Vec<_> = self.processes.iter().map(|process| &process.mark_names).collect();
        let process = |slot: u32| self.processes[slot as usize].info.index;
        let thread = |slot: u32| self.threads[slot as usize].info.index;
        let ticks_per_second = self.end.as_ref().map_or(0, |end| end.ticks_per_second);
        account.finish(&names, process, thread, ticks_per_second)
    }

    /// What slowed the heap from outside of the code, each once.
    fn environment(&mut self) -> Vec<EnvironmentFinding> {
        let mut all: Vec<EnvironmentFinding> = Vec::new();
        let of_processes = self.processes.iter().flat_map(|process| &process.info.environment_findings);
        for finding in self.meta.environment_findings.iter().chain(of_processes) {
            if all.len() == MOST_FINDINGS {
                break;
            }
            if all.iter().all(|known| (&known.check, &known.title) != (&finding.check, &finding.title)) {
                all.push(finding.clone());
            }
        }
        let checking = all.iter().filter(|finding| matches!(finding.severity.as_str(), "medium" | "high"));
        let what: Vec<&str> = checking.map(|finding| finding.title.as_str()).collect();
        if !what.is_empty() {
            self.warnings.push(Warning::Environment { what: what.join("; ") });
        }
        all
    }

    /// Sites with their stacks in one stack_table.
    fn raw_sites(&mut self) -> (Vec<(NodeId, Site)>, StackTable) {
        let stats = std::mem::take(&mut self.sequencer.ledger.sites);
        let (peaks, budget) = (self.sequencer.ledger.peaks(), self.sequencer.ledger.budget.clone());
        let mut stack_table = StackTable::default();
        self.processes.iter_mut().for_each(|process| process.modules.close());
        let ledger = &self.sequencer.ledger;
        let mut has_sites = vec![false; self.processes.len()];
        ledger.site_stacks.iter().for_each(|&(process, _)| has_sites[process as usize] = true);
        let modules_of = |i| if has_sites[i] { self.modules_of(i) } else { Vec::new() };
        let mut entries: Vec<_> = (0..self.processes.len())
            .map(|i| Entry::new(i as u32, &self.processes[i].raw, modules_of(i)))
            .collect();
        let sites = stats.into_iter().zip(&ledger.site_stacks).map(|(stats, &(process, stack))| {
            let mut node = stack_table.enter(&mut entries[process as usize], stack);
            // Going through all stacks takes time with all of their frames.
            if !budget.unfold(stack_table.trie.depth(node)) {
                node = CUT;
            }
            let (peak_bytes, peak_blocks) = stats.at_peak(peaks);
            let site = Site {
                id: SiteId(0),
                stack: node,
                user_frame: None,
                process: Some(self.processes[process as usize].info.index),
                allocations: stats.allocations,
                allocated_bytes: Bytes(stats.allocated_bytes),
                reallocations: stats.reallocations,
                deallocations: stats.deallocations,
                freed_after: stats.freed_after,
                freed_on_other_thread: stats.freed_on_other_thread,
                peak_bytes: Bytes(peak_bytes),
                peak_blocks,
                most_live_bytes: Bytes(stats.most_bytes),
                most_live_blocks: stats.blocks_at_most_bytes,
                live_at_exit_bytes: Bytes(stats.exit_bytes),
                live_at_exit_blocks: stats.exit_blocks,
                lifetimes: stats.lifetimes,
                most_blocks: stats.most_blocks,
                sizes: stats.sizes.spread(stats.allocations + stats.reallocations, stats.largest),
                largest_bytes: Bytes(stats.largest),
                growth: stats.growth.map(|g| growth(*g)).unwrap_or_default(),
                most_reallocations: stats.most_reallocations,
                shrinks: stats.shrinks,
                copied_bytes: Bytes(stats.copied_bytes),
                handovers: stats.handovers.map(|h| self.site_handovers(&h)).unwrap_or_default(),
                exit_births: stats.exit_births.map(|b| *b).unwrap_or_default(),
                failed_allocations: stats.failed,
                samples: match ledger.sampling.is_on() {
                    true => stats.sample.as_ref().map_or(0, |sample| sample.samples),
                    false => stats.allocations + stats.reallocations,
                },
                variances: stats.sample.map(|sample| sample.variances(peaks)).unwrap_or_default(),
                allocator_time: None,
                times: stats.times,
                cut: false,
            };
            (node, site)
        });
        (sites.collect(), stack_table)
    }

    fn site_handovers(&self, counts: &SiteHandovers) -> Vec<Handover> {
        let pairs = counts.pairs.iter().map(|&((from, to), blocks)| self.handover((from, to), blocks, 0));
        let mut list: Vec<_> = pairs.collect();
        list.sort_by_key(|h| (std::cmp::Reverse(h.blocks), h.from, h.to));
        list
    }

    fn thread_matrix(&self) -> Vec<Handover> {
        let pairs = &self.sequencer.ledger.handovers.pairs;
        let mut list: Vec<_> =
            pairs.iter().map(|(&pair, &(blocks, bytes))| self.handover(pair, blocks, bytes)).collect();
        list.sort_by_key(|h| (std::cmp::Reverse(h.blocks), h.from, h.to));
        list
    }

    fn handover(&self, (from, to): (u32, u32), blocks: u64, bytes: u64) -> Handover {
        let index = |slot: u32| self.threads[slot as usize].info.index;
        Handover { from: index(from), to: index(to), blocks, bytes: Bytes(bytes) }
    }

    /// Modules of a process, then of those that it was forked from, whose mappings it inherited.
    pub(crate) fn modules_of(&self, slot: usize) -> Vec<&Modules> {
        let mut modules = vec![&self.processes[slot].modules];
        let mut at = slot;
        while let Some(parent) = self.processes[at].info.forked_from.and_then(|p| self.process_slots.get(&p))
        {
            // A process that is its own ancestor only occurs in damaged recordings, as do very many generations.
            if modules.len() == MOST_ANCESTORS {
                break;
            }
            at = *parent as usize;
            modules.push(&self.processes[at].modules);
        }
        modules
    }

    fn thread_tables(&self) -> Vec<Thread> {
        let ledgers = self.sequencer.ledger.threads.iter();
        let tables = self.threads.iter().zip(ledgers).map(|(state, ledger)| {
            let totals = Totals {
                peak_live_bytes: Bytes(ledger.live.peak_bytes),
                peak_live_blocks: ledger.live.peak_blocks,
                lost_events: state.end.as_ref().map_or(0, |e| e.lost_events),
                never_freed_bytes: ledger.counts.live_at_exit_bytes,
                never_freed_blocks: ledger.counts.live_at_exit_blocks,
                ..ledger.counts
            };
            let last_name = state.end.as_ref().map(|e| e.name.as_str()).filter(|n| !n.is_empty());
            Thread {
                index: state.info.index,
                process: self.processes[ledger.process as usize].info.index,
                tid: state.info.tid,
                name: last_name.unwrap_or(&state.info.name).to_owned(),
                totals,
                freed_elsewhere_blocks: ledger.freed_elsewhere,
            }
        });
        tables.collect()
    }

    fn process_tables(&mut self, threads: &[Thread]) -> (Vec<Process>, Totals) {
        let mut sums: FxHashMap<ProcessIndex, Totals> = FxHashMap::default();
        for thread in threads {
            let sum = sums.entry(thread.process).or_default();
            sum.add_counts(&thread.totals);
            sum.lost_events = sum.lost_events.saturating_add(thread.totals.lost_events);
        }
        let mut overall = Totals::default();
        let mut processes = Vec::new();
        for (slot, state) in self.processes.iter_mut().enumerate() {
            let ledger = &self.sequencer.ledger.processes[slot];
            let mut totals = sums.get(&state.info.index).copied().unwrap_or_default();
            totals.peak_live_bytes = Bytes(ledger.live.peak_bytes);
            totals.peak_live_blocks = ledger.live.peak_blocks;
            // The process's own count includes what its threads dropped, and comes last.
            totals.lost_events = totals.lost_events.max(state.end.as_ref().map_or(0, |e| e.lost_events));
            overall.add_counts(&totals);
            overall.lost_events = overall.lost_events.saturating_add(totals.lost_events);
            let clock = &mut self.sequencer.clock;
            let Epoch(start) = state.info.start_epoch;
            processes.push(Process {
                index: state.info.index,
                place: slot,
                pid: state.info.pid,
                parent_pid: state.info.parent_pid,
                forked_from: state.info.forked_from,
                command: state.info.command.clone(),
                allocator: state.info.allocator.clone(),
                by_name: state.info.by_name.clone(),
                allocators: Vec::new(),
                start: Nanos(clock.time_ns(start)),
                end: state.end.as_ref().map(|e| Nanos(clock.time_ns(e.epoch.0))),
                still_running: state.end.as_ref().is_some_and(|e| e.still_running),
                totals,
                modules: std::mem::take(&mut state.module_infos),
            });
        }
        // A process that took long to say what it is may be described after those that it has started.
        processes.sort_by_key(|process| (process.start, process.index));
        let gauge = self.sequencer.ledger.overall;
        overall.peak_live_bytes = Bytes(gauge.peak_bytes);
        overall.peak_live_blocks = gauge.peak_blocks;
        // What processes left that ran one after the other was never there together.
        let (bytes, blocks) = self.sequencer.ledger.exits.highest();
        (overall.live_at_exit_bytes, overall.live_at_exit_blocks) = (Bytes(bytes), blocks);
        (processes, overall)
    }

    fn stack_quality(&self) -> StackQuality {
        let ends = self.processes.iter().filter_map(|p| p.end.as_ref());
        ends.fold(StackQuality::default(), |sum, end| StackQuality {
            verified: sum.verified.saturating_add(end.verified),
            verify_failed: sum.verify_failed.saturating_add(end.verify_failed),
            ..sum
        })
    }

    fn final_warnings(&mut self, totals: &Totals, expected_frees: u64, stacks: &StackQuality) {
        let warnings = &mut self.warnings;
        if self.skipped > 0 {
            let first = std::mem::take(&mut self.first_skipped);
            warnings.push(Warning::SkippedSections { count: self.skipped, first });
        }
        let damaged = self.threads.iter().filter(|t| t.damaged).count() as u64;
        if damaged > 0 {
            warnings.push(Warning::DamagedEvents { threads: damaged });
        }
        match &self.end {
            None => warnings.push(Warning::NoEnd),
            Some(end) => {
                if let Some(reason) = end.stopped_early.clone() {
                    warnings.push(Warning::StoppedEarly { reason });
                }
                if end.refused_processes > 0 {
                    warnings.push(Warning::RefusedProcesses { count: end.refused_processes });
                }
                let refusals = end.refusals.iter();
                let what: Vec<_> =
                    refusals.map(|r| format!("{} ({}; {} times)", r.what, r.why, r.count)).collect();
                if !what.is_empty() {
                    warnings.push(Warning::Distrusted { what: what.join("; ") });
                }
            }
        }
        let running = self.processes.iter().filter(|p| p.end.as_ref().is_some_and(|e| e.still_running));
        let pids: Vec<u32> = running.map(|p| p.info.pid).collect();
        // That a process goes on that was attached to, or in the next file, is what the head of a report says.
        let goes_on = self.end.as_ref().is_some_and(|end| end.goes_on);
        if !pids.is_empty() && self.meta.interception != Interception::Attach && !goes_on {
            warnings.push(Warning::StillRunning { pids });
        }
        if totals.lost_events > 0 {
            warnings.push(Warning::LostEvents { count: totals.lost_events });
        }
        if stacks.verify_failed > 0 {
            warnings.push(Warning::WrongStacks { failed: stacks.verify_failed, verified: stacks.verified });
        }
        let no_clock =
            self.processes.iter().filter(|p| p.end.as_ref().is_some_and(|e| e.no_clock)).count() as u64;
        if no_clock > 0 {
            warnings.push(Warning::NoClock { processes: no_clock });
        }
        // A handful is usual: what the program allocated before the recorder was there.
        let unknown_frees = totals.unknown_frees.saturating_sub(expected_frees);
        let odd = unknown_frees + totals.implicit_frees;
        if odd > 100 && odd > totals.calls() / 1000 {
            let implicit_frees = totals.implicit_frees;
            warnings.push(Warning::UncertainOrder { unknown_frees, implicit_frees });
        }
        let count = self.threads.iter().filter(|t| !t.has_record).count() as u64;
        if count > 0 {
            warnings.push(Warning::UnknownThreads { count });
        }
    }
}
