//! The trie of stacks, and the object files that its addresses are in.

use super::PROCESS;
use super::names::Names;
use crate::modules::Modules;
use crate::stack::MOST_FRAMES;
use crate::system::Module;
use heapwise_trace::event::StackId;
use heapwise_trace::file::records::ModuleInfo;
use heapwise_trace::file::tables::Nodes;
use heapwise_trace::live::node::{ADDRESS_MASK, root_key};
use rustc_hash::{FxHashMap, FxHashSet};

/// Innermost frames among which heapwise's own are looked for.
const OWN_FRAMES: usize = 24;
/// Nodes of the trie; what does not fit has no stack. As many as the preload's recorder has.
const MOST_NODES: u32 = 1 << 26;
const WHOLE: u32 = 1;
const CUT: u32 = 2;

#[derive(Debug)]
pub(super) struct Stacks {
    ids: FxHashMap<(u32, u64), u32>,
    last: u32,
    /// Nodes that are not written yet, with the id of the first of them.
    new: Vec<(u32, u64)>,
    first_new: u32,
    modules: Modules,
    written_modules: usize,
    looked_for: FxHashSet<u64>,
}

impl Default for Stacks {
    fn default() -> Self {
        let new = vec![(0, root_key(0, false)), (0, root_key(0, true))];
        Self {
            ids: FxHashMap::default(),
            last: CUT,
            new,
            first_new: WHOLE,
            modules: Modules::default(),
            written_modules: 0,
            looked_for: FxHashSet::default(),
        }
    }
}

impl Stacks {
    /// The id of a stack, innermost frame first, without heapwise's own frames.
    pub(super) fn enter(&mut self, frames: &[u64], names: &mut Names) -> StackId {
        if frames.is_empty() {
            return StackId::UNKNOWN;
        }
        let innermost = &frames[..frames.len().min(OWN_FRAMES)];
        let own = innermost.iter().rposition(|address| names.is_own(*address)).map_or(0, |at| at + 1);
        let mut node = if frames.len() == MOST_FRAMES { CUT } else { WHOLE };
        for &address in frames[own..].iter().rev() {
            let key = address & ADDRESS_MASK;
            node = match self.ids.get(&(node, key)) {
                Some(&known) => known,
                None if self.last == MOST_NODES => return StackId::UNKNOWN,
                None => self.add(node, key, names),
            };
        }
        StackId(node)
    }

    fn add(&mut self, parent: u32, key: u64, names: &mut Names) -> u32 {
        self.last += 1;
        self.ids.insert((parent, key), self.last);
        self.new.push((parent, key));
        if self.looked_for.insert(key) {
            names.want(key);
            if let Some(changed) = self.modules.look_for(key) {
                self.written_modules = self.written_modules.min(changed);
            }
        }
        self.last
    }

    pub(super) fn modules(&self) -> &[Module] {
        self.modules.list()
    }

    /// Object files that are new.
    pub(super) fn new_modules(&mut self) -> Vec<ModuleInfo> {
        let new = self.modules.list()[self.written_modules..].iter().map(|module| ModuleInfo {
            process: PROCESS,
            generation: 0,
            start: module.start,
            end: module.end,
            bias: module.bias,
            build_id: module.build_id.clone(),
            path: module.path.clone(),
        });
        let new = new.collect();
        self.written_modules = self.modules.list().len();
        new
    }

    /// Nodes that are new.
    pub(super) fn new_nodes(&mut self) -> Option<Nodes> {
        if self.new.is_empty() {
            return None;
        }
        let nodes = std::mem::take(&mut self.new);
        let first_id = std::mem::replace(&mut self.first_new, self.last + 1);
        Some(Nodes { process: PROCESS, first_id, nodes })
    }
}
