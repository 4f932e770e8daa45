//! Puts call sites together: the same stack in several processes, or on the same lines, is one site.

use crate::analysis::{Analysis, Site};
use crate::heap::{CallTimes, TickLength};
use crate::shape::{Habit, WrapperShapes};
use crate::stacks::modules::Images;
use crate::stacks::names::{FramesId, Names, StoredFrame};
use crate::stacks::owner::{BestRank, FrameFacts, nearest_frame};
use crate::stacks::stack_table::StackTable;
use crate::stacks::trie::{CUT, NodeId, Trie, WHOLE};
use crate::units::SiteId;
use heapwise_trace::event::StackId;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Most pairs of threads that a site distinguishes when it was put together from several stacks.
const MOST_HANDOVERS: usize = 16;

/// How often wrappers are looked for by their shape: one may call another.
const MOST_ROUNDS: usize = 4;

/// Frames of a stack among which the user's nearest one is looked for. A recursion of others may be far deeper, and have a site at
/// each depth.
const MOST_FRAMES: usize = 1024;

impl Analysis {
    /// Makes the table of sites from the raw ones with the symbols that there are.
    pub(crate) fn name_sites(&mut self) {
        self.names = Names::new(&self.stack_table, &self.images, &self.symbols);
        self.stacks_by_name = Trie::default();
        let mut by_node: FxHashMap<NodeId, NodeId> = [(WHOLE, WHOLE), (CUT, CUT)].into_iter().collect();
        let mut by_stack: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut sites: Vec<Site> = Vec::new();
        let mut stack_of_raw = Vec::with_capacity(self.raw_sites.len());
        for (node, raw) in &self.raw_sites {
            let named =
                named_node(&self.stack_table, &self.names, &mut self.stacks_by_name, &mut by_node, *node);
            stack_of_raw.push(named);
            match by_stack.get(&named) {
                Some(&at) => sites[at].merge(raw),
                None => {
                    by_stack.insert(named, sites.len());
                    sites.push(Site {
                        stack: named,
                        cut: self.stacks_by_name.root(named) == CUT,
                        ..raw.clone()
                    });
                }
            }
        }
        // PERF: sites are large, and so each is moved once, into its place.
        sites.sort_by_cached_key(|site| {
            (Reverse((site.allocated_bytes, site.allocations, site.reallocations)), site.stack)
        });
        sites.iter_mut().enumerate().for_each(|(i, site)| site.id = SiteId(i as u32));
        find_places(&mut self.names, &self.stacks_by_name, &self.images, &mut sites);
        self.time_sites(&mut sites);
        let ids: FxHashMap<NodeId, SiteId> = sites.iter().map(|site| (site.stack, site.id)).collect();
        let site_of: Vec<SiteId> = stack_of_raw.iter().map(|stack| ids[stack]).collect();
        self.sites = sites;
        self.account(&site_of);
        self.site_of_raw = site_of;
    }

    /// The site of a recorded stack, by the process's place in [`Analysis::processes`]. For what an
    /// [`Observer`](crate::Observer) has seen.
    pub fn site_of_stack(&self, process: usize, stack: StackId) -> Option<SiteId> {
        let key = (u32::try_from(process).ok()?, stack);
        let raw = self.stacks_of_raw.iter().position(|known| *known == key)?;
        self.site_of_raw.get(raw).copied()
    }

    /// All recorded stacks, by their process's place in [`Analysis::processes`], and the site of each.
    pub fn recorded_stacks(&self) -> impl Iterator<Item = ((usize, StackId), SiteId)> {
        let stacks = self.stacks_of_raw.iter().map(|&(process, stack)| (process as usize, stack));
        stacks.zip(self.site_of_raw.iter().copied())
    }

    /// From the calls that were measured to the time that each site took.
    fn time_sites(&self, sites: &mut [Site]) {
        let mut all = CallTimes::default();
        sites.iter().filter_map(|site| site.times.as_ref()).for_each(|times| all.merge(times));
        let end = self.end.as_ref();
        let clock = end.map(|e| TickLength::new(e.ticks_per_second, e.ticks_overhead)).unwrap_or_default();
        let none = CallTimes::default();
        for site in sites {
            let calls = [site.allocations, site.deallocations, site.reallocations];
            site.allocator_time = site.times.as_deref().unwrap_or(&none).estimate(calls, &all, clock);
        }
    }
}

/// A stack whose place is looked for.
pub(crate) trait Placed {
    /// Its node in the trie of named frames.
    fn stack(&self) -> NodeId;
    /// Which of its frames is the user's nearest one.
    fn user_frame(&mut self) -> &mut Option<usize>;
    fn habit(&self) -> Habit;
}

impl Placed for Site {
    fn stack(&self) -> NodeId {
        self.stack
    }

    fn user_frame(&mut self) -> &mut Option<usize> {
        &mut self.user_frame
    }

    fn habit(&self) -> Habit {
        Habit::new(self.allocations + self.reallocations, &self.sizes)
    }
}

/// Finds the user's nearest frame of each stack. What turns out to be a wrapper of the allocator by how it is called is passed
/// over, which may show that its callers are wrappers as well.
pub(crate) fn find_places(
    names: &mut Names,
    stacks: &Trie<FramesId>,
    images: &Images,
    sites: &mut [impl Placed],
) {
    names.adopt_program(images);
    // A wrapper that is passed over ranks below what it was before, so this stays true.
    let outwards = stacks.fold(BestRank::NONE, |best, list| {
        names.frames(list).iter().fold(best, |best, (_, owner)| best.and(*owner))
    });
    for round in 0..=MOST_ROUNDS {
        for site in sites.iter_mut() {
            // Lazily: the nearest frame is found within the first few of what may be thousands.
            let lists = stacks.nodes(site.stack());
            let frames = lists.flat_map(|(node, list)| {
                names.frames(list).iter().map(move |(frame, owner)| (frame, *owner, node))
            });
            let frames = frames.map(|(frame, owner, node)| (frame, owner, outwards.of(node)));
            let facts_of = |frame: &StoredFrame| FrameFacts {
                function: names.text(frame.function),
                file: names.text(frame.file),
                module: frame.image.map(|i| images.get(i).path.as_str()),
            };
            let is_whole = stacks.root(site.stack()) == WHOLE;
            *site.user_frame() = nearest_frame(frames.take(MOST_FRAMES), is_whole, facts_of);
        }
        if round == MOST_ROUNDS {
            break;
        }
        let mut shapes = WrapperShapes::default();
        for site in sites.iter_mut() {
            let Some(place) = *site.user_frame() else { continue };
            let frames = stacks.frames(site.stack()).flat_map(|l| names.frames(l));
            shapes.add(place, site.habit(), frames, names);
        }
        let wrappers = shapes.wrappers(names);
        if wrappers.is_empty() {
            break;
        }
        names.pass_over(&wrappers);
    }
}

/// The node in the trie of named frames that stands for a node in the trie of locations.
pub(crate) fn named_node(
    stack_table: &StackTable,
    names: &Names,
    named: &mut Trie<FramesId>,
    known: &mut FxHashMap<NodeId, NodeId>,
    node: NodeId,
) -> NodeId {
    let mut new = Vec::new();
    let mut at = node;
    let mut result = loop {
        if let Some(&found) = known.get(&at) {
            break found;
        }
        let Some((caller, location)) = stack_table.trie.get(at) else { break at };
        new.push((at, location));
        at = caller;
    };
    for (at, location) in new.into_iter().rev() {
        result = named.child(result, names.of_location(location));
        known.insert(at, result);
    }
    result
}

impl Site {
    pub(crate) fn merge(&mut self, other: &Site) {
        if self.process != other.process {
            self.process = None;
        }
        self.allocations += other.allocations;
        self.allocated_bytes += other.allocated_bytes;
        self.reallocations += other.reallocations;
        self.deallocations += other.deallocations;
        self.freed_after.merge(&other.freed_after);
        self.freed_on_other_thread += other.freed_on_other_thread;
        self.peak_bytes += other.peak_bytes;
        self.peak_blocks += other.peak_blocks;
        self.most_live_bytes += other.most_live_bytes;
        self.most_live_blocks += other.most_live_blocks;
        self.live_at_exit_bytes += other.live_at_exit_bytes;
        self.live_at_exit_blocks += other.live_at_exit_blocks;
        self.lifetimes.merge(&other.lifetimes);
        self.most_blocks += other.most_blocks;
        self.sizes.merge(&other.sizes);
        self.largest_bytes = self.largest_bytes.max(other.largest_bytes);
        self.growth.buffers += other.growth.buffers;
        self.growth.steps += other.growth.steps;
        self.growth.final_sizes.merge(&other.growth.final_sizes);
        self.shrinks += other.shrinks;
        self.copied_bytes += other.copied_bytes;
        for theirs in &other.handovers {
            let full = self.handovers.len() >= MOST_HANDOVERS;
            match self.handovers.iter_mut().find(|h| (h.from, h.to) == (theirs.from, theirs.to)) {
                Some(ours) => ours.blocks += theirs.blocks,
                None if !full => self.handovers.push(*theirs),
                None => {}
            }
        }
        self.handovers.sort_by_key(|h| Reverse(h.blocks));
        self.exit_births.iter_mut().zip(other.exit_births).for_each(|(ours, theirs)| *ours += theirs);
        self.most_reallocations = self.most_reallocations.max(other.most_reallocations);
        self.failed_allocations += other.failed_allocations;
        self.samples += other.samples;
        self.variances += other.variances;
        if let Some(times) = &other.times {
            self.times.get_or_insert_default().merge(times);
        }
    }
}
