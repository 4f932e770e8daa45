//! Call sites by address, not by name, for other tools.
//!
//! A report shows calls on the same line as one, since a reader cannot distinguish them. A tool that disassembles, or
//! that has its own symbols, can. So here a stack is a chain of *places*: an instruction in an object file, with all
//! the source-level frames that the compiler put there.

use crate::analysis::{Analysis, Site};
use crate::stacks::frame::Frame;
use crate::stacks::modules::Image;
use crate::stacks::stack_table::{Location, LocationId};
use crate::stacks::trie::{CUT, NodeId};
use heapwise_trace::file::records::ProcessIndex;
use rustc_hash::{FxHashMap, FxHashSet};

/// Index of a [`Place`], below [`Analysis::n_places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceId(pub u32);

/// An instruction that occurs in stacks.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The object file, if there is one, and its index among all of them.
    pub module: Option<(usize, &'a Image)>,
    /// Address in the object file as it was linked; in the process, without one. It lies within the call.
    pub address: u64,
    /// What is there, from the innermost inlined function outwards; never empty.
    pub frames: Vec<Frame<'a>>,
}

/// All events with the same chain of places, in whatever process.
#[derive(Clone, Copy, Debug)]
pub struct ExactSite {
    stack: NodeId,
    /// Whether the stack ended before the thread's first function.
    pub cut: bool,
    pub numbers: Numbers,
}

/// The numbers of a site that are meaningful in any unit of account: all but shares and quantiles.
///
/// Each means what the field of the same name in [`Site`] does, but for those of the recording's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    pub allocations: u64,
    pub reallocations: u64,
    pub temporary_allocations: u64,
    pub allocated_bytes: u64,
    pub peak_bytes: u64,
    pub peak_blocks: u64,
    pub most_live_bytes: u64,
    pub most_live_blocks: u64,
    pub live_at_exit_bytes: u64,
    pub live_at_exit_blocks: u64,
    /// Of that, what was there at the end of the recording: see [`Analysis::last_processes`].
    pub live_at_end_bytes: u64,
    pub live_at_end_blocks: u64,
    /// Sum of the lifetimes of all blocks, up to the end for those that were never freed.
    pub lifetimes_us: u64,
}

impl From<&Site> for Numbers {
    fn from(site: &Site) -> Self {
        Self {
            allocations: site.allocations,
            reallocations: site.reallocations,
            temporary_allocations: site.freed_after.temporary(),
            allocated_bytes: site.allocated_bytes.0,
            peak_bytes: site.peak_bytes.0,
            peak_blocks: site.peak_blocks,
            most_live_bytes: site.most_live_bytes.0,
            most_live_blocks: site.most_live_blocks,
            live_at_exit_bytes: site.live_at_exit_bytes.0,
            live_at_exit_blocks: site.live_at_exit_blocks,
            live_at_end_bytes: 0,
            live_at_end_blocks: 0,
            lifetimes_us: site.lifetimes.total_us(),
        }
    }
}

impl std::ops::AddAssign for Numbers {
    // A damaged recording may hold any number: sums wrap instead of ending the analysis.
    fn add_assign(&mut self, other: Self) {
        let sums = [
            (&mut self.allocations, other.allocations),
            (&mut self.reallocations, other.reallocations),
            (&mut self.temporary_allocations, other.temporary_allocations),
            (&mut self.allocated_bytes, other.allocated_bytes),
            (&mut self.peak_bytes, other.peak_bytes),
            (&mut self.peak_blocks, other.peak_blocks),
            (&mut self.most_live_bytes, other.most_live_bytes),
            (&mut self.most_live_blocks, other.most_live_blocks),
            (&mut self.live_at_exit_bytes, other.live_at_exit_bytes),
            (&mut self.live_at_exit_blocks, other.live_at_exit_blocks),
            (&mut self.live_at_end_bytes, other.live_at_end_bytes),
            (&mut self.live_at_end_blocks, other.live_at_end_blocks),
            (&mut self.lifetimes_us, other.lifetimes_us),
        ];
        for (sum, more) in sums {
            *sum = sum.wrapping_add(more);
        }
    }
}

impl Analysis {
    /// Call sites by address, the ones with the most allocated bytes first.
    pub fn exact_sites(&self) -> Vec<ExactSite> {
        let mut by_node: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut sites: Vec<ExactSite> = Vec::new();
        let last = self.last_processes();
        for (node, raw) in &self.raw_sites {
            let mut numbers = Numbers::from(raw);
            if raw.process.is_some_and(|process| last.contains(&process)) {
                numbers.live_at_end_bytes = numbers.live_at_exit_bytes;
                numbers.live_at_end_blocks = numbers.live_at_exit_blocks;
            }
            match by_node.get(node) {
                Some(&at) => sites[at].numbers += numbers,
                None => {
                    by_node.insert(*node, sites.len());
                    sites.push(ExactSite {
                        stack: *node,
                        cut: self.stack_table.trie.root(*node) == CUT,
                        numbers,
                    });
                }
            }
        }
        sites.sort_by_key(|s| {
            (std::cmp::Reverse((s.numbers.allocated_bytes, s.numbers.allocations)), s.stack)
        });
        sites
    }

    /// The processes that were there at the end of the recording: those that ran on, or else the one that had ended last.
    pub fn last_processes(&self) -> FxHashSet<ProcessIndex> {
        // One whose end was not seen, in a recording that was cut off, ran as well.
        let running = self.processes.iter().filter(|process| process.still_running || process.end.is_none());
        let running: FxHashSet<_> = running.map(|process| process.index).collect();
        if !running.is_empty() {
            return running;
        }
        let last = self.processes.iter().rev().max_by_key(|process| process.end);
        last.map(|process| process.index).into_iter().collect()
    }

    /// The places of a site's stack from the innermost outwards.
    pub fn places(&self, site: &ExactSite) -> impl Iterator<Item = PlaceId> {
        self.stack_table.trie.frames(site.stack).map(|location| PlaceId(location.0))
    }

    /// All object files that were mapped; [`Place::module`] has an index of this list.
    pub fn images(&self) -> &[Image] {
        &self.images.list
    }

    /// How many places there are.
    pub fn n_places(&self) -> usize {
        self.stack_table.locations.len()
    }

    /// What is at a place.
    ///
    /// # Panics
    /// If the index is not below [`Analysis::n_places`].
    pub fn place(&self, id: PlaceId) -> Place<'_> {
        let list = self.names.of_location(LocationId(id.0));
        let frames = self.names.frames(list).iter().map(|frame| self.frame(frame)).collect();
        match self.stack_table.locations[id.0 as usize] {
            Location::Image(image, address) => {
                let module = Some((image.0 as usize, self.images.get(image)));
                Place { module, address, frames }
            }
            Location::Nowhere { address, .. } => Place { module: None, address, frames },
        }
    }
}
