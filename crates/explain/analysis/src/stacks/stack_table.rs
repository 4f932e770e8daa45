//! All stacks of the recording as one trie of locations.

use super::frame::ImageAddresses;
use super::modules::{ImageId, Images, Modules};
use super::raw::RawTrie;
use super::trie::{CUT, NodeId, Trie, WHOLE};
use heapwise_trace::event::StackId;
use heapwise_trace::live::node::NodeKind;
use rustc_hash::FxHashMap;

/// Where an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Location {
    /// In an object file, at an address as it was linked.
    Image(ImageId, u64),
    /// In no known object file, such as code that was generated at run time.
    Nowhere { process: u32, address: u64 },
}

/// Index of a [`Location`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LocationId(pub(crate) u32);

/// Stacks longer than this are damage that goes in a circle.
const MOST_FRAMES: usize = 1 << 16;
/// Modules that are looked at for all addresses together. In a damaged recording any number may lie on top of each other; where
/// nothing does, an address takes one or two.
const MOST_STEPS: u64 = 1 << 32;

/// The stack_table of stacks.
#[derive(Debug, Default)]
pub(crate) struct StackTable {
    pub(crate) locations: Vec<Location>,
    ids: FxHashMap<Location, LocationId>,
    pub(crate) trie: Trie<LocationId>,
    steps: u64,
}

/// One process's way into the stack_table.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) process: u32,
    pub(crate) raw: &'a RawTrie,
    /// Modules of the process, then those of the processes of which it is a fork.
    pub(crate) modules: Vec<&'a Modules>,
    /// What was found before: nodes with the generation of their root, and locations of addresses per generation.
    nodes: FxHashMap<u32, (NodeId, u32)>,
    addresses: FxHashMap<(u32, u64), LocationId>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(process: u32, raw: &'a RawTrie, modules: Vec<&'a Modules>) -> Self {
        Self { process, raw, modules, nodes: FxHashMap::default(), addresses: FxHashMap::default() }
    }
}

impl StackTable {
    /// The node of a recorded stack.
    pub(crate) fn enter(&mut self, entry: &mut Entry<'_>, stack: StackId) -> NodeId {
        if stack == StackId::UNKNOWN {
            return CUT;
        }
        let mut new = Vec::new();
        let mut at = stack.0;
        // A damaged recording's nodes may go in a circle. It comes back to the node that is remembered, a new one whenever as many
        // nodes again were met (R. P. Brent, An improved Monte Carlo factorization algorithm, 1980).
        let (mut remembered, mut until) = (None, 1);
        let (mut node, generation) = loop {
            if let Some(&known) = entry.nodes.get(&at) {
                break known;
            }
            // The root is missing: the newest modules are the best guess.
            let Some((parent, key)) = entry.raw.get(at) else { break (CUT, u32::MAX) };
            match NodeKind::from_key(key) {
                NodeKind::Root { generation, cut } => {
                    break (if cut { CUT } else { WHOLE }, generation);
                }
                NodeKind::Frame { address, exact } => new.push((at, address, exact)),
            }
            if new.len() > MOST_FRAMES || remembered == Some(parent) {
                // None of them needs to be followed again.
                entry.nodes.extend(new.iter().map(|&(id, ..)| (id, (CUT, u32::MAX))));
                return CUT;
            }
            if new.len() == until {
                (remembered, until) = (Some(parent), 2 * until);
            }
            at = parent;
        };
        for (id, address, exact) in new.into_iter().rev() {
            // A return address may be the first of the next line or function; the call is before it.
            let lookup = if exact { address } else { address.wrapping_sub(1) };
            let location = self.location(entry, generation, lookup);
            node = self.trie.child(node, location);
            entry.nodes.insert(id, (node, generation));
        }
        node
    }

    fn location(&mut self, entry: &mut Entry<'_>, generation: u32, address: u64) -> LocationId {
        if let Some(&id) = entry.addresses.get(&(generation, address)) {
            return id;
        }
        let steps = &mut self.steps;
        let mut modules = entry.modules.iter();
        let found = modules.find_map(|m| {
            *steps += 1;
            if *steps < MOST_STEPS { m.find(generation, address, steps) } else { None }
        });
        let location = match found {
            Some((image, svma)) => Location::Image(image, svma),
            None => Location::Nowhere { process: entry.process, address },
        };
        let next = LocationId(self.locations.len() as u32);
        let id = *self.ids.entry(location).or_insert(next);
        if id == next {
            self.locations.push(location);
        }
        entry.addresses.insert((generation, address), id);
        id
    }

    pub(crate) fn find(&self, location: Location) -> Option<LocationId> {
        self.ids.get(&location).copied()
    }

    /// Addresses of object files among the locations from one on, for which symbols are wanted.
    pub(crate) fn wanted(&self, from: usize, images: &Images) -> Vec<ImageAddresses> {
        let mut addresses = vec![Vec::new(); images.list.len()];
        for location in self.locations.get(from..).unwrap_or_default() {
            if let Location::Image(image, svma) = location {
                addresses[image.0 as usize].push(*svma);
            }
        }
        let used = images.list.iter().zip(addresses).filter(|(_, addresses)| !addresses.is_empty());
        used.map(|(image, mut addresses)| {
            addresses.sort_unstable();
            ImageAddresses { path: image.path.clone(), build_id: image.build_id.clone(), addresses }
        })
        .collect()
    }
}
