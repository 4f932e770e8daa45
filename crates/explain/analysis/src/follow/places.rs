//! Names for stacks while there are ever more of them.
//!
//! A stack is entered into the table of all stacks when its addresses are handed out to be looked up, and has a place from when the names
//! have come: with some of them missing it would have another one for a while. Places are found anew for all stacks, as at the end
//! of a recording, since what is a wrapper shows by the stacks together.

use super::Follow;
use crate::ahead::Ahead;
use crate::shape::Habit;
use crate::sites::{Placed, find_places, named_node};
use crate::stacks::frame::{Frame, ImageAddresses};
use crate::stacks::names::{FramesId, Names};
use crate::stacks::stack_table::{Entry, StackTable};
use crate::stacks::trie::{CUT, NodeId, Trie, WHOLE};
use heapwise_trace::event::StackId;
use heapwise_trace::file::tables::Symbols;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::io::Read;

/// Where a stack's blocks are from, as reports have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackPlace<'a> {
    /// Its names were not looked up yet.
    NotYet,
    /// There is no frame that could be shown.
    Unknown,
    /// The user's nearest frame.
    Frame(Frame<'a>),
}

/// The names so far.
#[derive(Debug, Default)]
pub(super) struct Places {
    stack_table: StackTable,
    /// Of each stack of the ledger, in its order.
    entered: Vec<Entered>,
    /// Locations whose addresses were handed out.
    asked: usize,
    symbols: Vec<Symbols>,
    /// Symbols of the recording itself that were taken in.
    from_file: usize,
    names: Names,
    by_name: Trie<FramesId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Entered {
    #[default]
    No,
    /// It is in the table of stacks, and waits for its names.
    Waits(NodeId),
    Named {
        /// In the table of stacks.
        node: NodeId,
        /// In the trie of named frames.
        stack: NodeId,
        user_frame: Option<usize>,
    },
}

/// A stack on its way to a place.
struct OnTheWay {
    at: usize,
    node: NodeId,
    stack: NodeId,
    user_frame: Option<usize>,
    habit: Habit,
}

impl Placed for OnTheWay {
    fn stack(&self) -> NodeId {
        self.stack
    }

    fn user_frame(&mut self) -> &mut Option<usize> {
        &mut self.user_frame
    }

    fn habit(&self) -> Habit {
        self.habit
    }
}

impl<R: Read> Follow<R> {
    /// Takes stacks without names, at most so many, those that have most; and returns the addresses for which symbols are wanted that
    /// were not asked for before, ready to be looked up. `None` if there is no such stack. The answer goes to [`Follow::add_symbols`],
    /// also if it is empty.
    pub fn unnamed(&mut self, most: usize) -> Option<Vec<ImageAddresses>> {
        let ledger = &self.ahead.run.sequencer.ledger;
        let places = &mut self.places;
        places.entered.resize(ledger.sites.len(), Entered::No);
        let size_of = |at: usize| {
            let site = &ledger.sites[at];
            (site.live().0, site.allocated_bytes, site.allocations + site.reallocations)
        };
        let mut new: Vec<usize> =
            (0..ledger.sites.len()).filter(|&at| places.entered[at] == Entered::No).collect();
        if new.is_empty() {
            return None;
        }
        if new.len() > most {
            new.select_nth_unstable_by_key(most, |&at| Reverse(size_of(at)));
            new.truncate(most);
        }
        let mut by_process: FxHashMap<u32, Vec<(usize, StackId)>> = FxHashMap::default();
        for at in new {
            let (process, stack) = ledger.site_stacks[at];
            by_process.entry(process).or_default().push((at, stack));
        }
        self.ahead.run.processes.iter_mut().for_each(|process| process.modules.close());
        for (slot, stacks) in by_process {
            let slot_of_process = slot as usize;
            let modules = self.ahead.run.modules_of(slot_of_process);
            let mut entry = Entry::new(slot, &self.ahead.run.processes[slot_of_process].raw, modules);
            for (at, stack) in stacks {
                let mut node = self.places.stack_table.enter(&mut entry, stack);
                let depth = self.places.stack_table.trie.depth(node);
                if !self.ahead.run.sequencer.ledger.budget.unfold(depth) {
                    node = CUT;
                }
                self.places.entered[at] = Entered::Waits(node);
            }
        }
        let places = &mut self.places;
        let from = std::mem::replace(&mut places.asked, places.stack_table.locations.len());
        Some(places.stack_table.wanted(from, &self.ahead.run.images))
    }

    /// Takes the names of all addresses that were asked for, and finds the places of all stacks anew.
    pub fn add_symbols(&mut self, symbols: Symbols) {
        if !symbols.images.is_empty() {
            self.places.symbols.push(symbols);
        }
        self.find_places();
    }

    /// Whether the recording has brought symbols that [`Follow::find_places`] would take in.
    pub fn has_new_symbols(&self) -> bool {
        self.ahead.run.symbols.len() > self.places.from_file
    }

    /// Finds the places of all stacks that have names, or wait for them. Those that the recording brings count more than others: they
    /// are from where it was made.
    pub fn find_places(&mut self) {
        let Self { ahead: Ahead { run, .. }, places, .. } = self;
        let own = places.symbols.iter().chain(&run.symbols);
        places.from_file = run.symbols.len();
        places.names = Names::new(&places.stack_table, &run.images, own);
        places.by_name = Trie::default();
        let mut by_node: FxHashMap<NodeId, NodeId> = [(WHOLE, WHOLE), (CUT, CUT)].into_iter().collect();
        let sites = &run.sequencer.ledger.sites;
        let mut all = Vec::new();
        for (at, entered) in places.entered.iter().enumerate() {
            let (Entered::Waits(node) | Entered::Named { node, .. }) = *entered else { continue };
            let stack =
                named_node(&places.stack_table, &places.names, &mut places.by_name, &mut by_node, node);
            let site = &sites[at];
            let blocks = site.allocations + site.reallocations;
            let habit = Habit::new(blocks, &site.sizes.clone().spread(blocks, site.largest));
            all.push(OnTheWay { at, node, stack, user_frame: None, habit });
        }
        find_places(&mut places.names, &places.by_name, &run.images, &mut all);
        for OnTheWay { at, node, stack, user_frame, .. } in all {
            places.entered[at] = Entered::Named { node, stack, user_frame };
        }
    }

    /// Where the blocks of a stack are from, by its place in [`Follow::stacks`].
    pub fn place(&self, stack: usize) -> StackPlace<'_> {
        let places = &self.places;
        let Some(&Entered::Named { stack, user_frame, .. }) = places.entered.get(stack) else {
            return StackPlace::NotYet;
        };
        let frames = places.by_name.frames(stack).flat_map(|list| places.names.frames(list));
        let frame = user_frame.and_then(|at| { frames }.nth(at));
        frame.map_or(StackPlace::Unknown, |frame| {
            StackPlace::Frame(places.names.frame(frame, &self.ahead.run.images))
        })
    }
}
