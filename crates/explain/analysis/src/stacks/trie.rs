//! A trie of stacks: a node is a frame in the context of its callers.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// A node; the roots come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

/// Below it are stacks that are whole.
pub(crate) const WHOLE: NodeId = NodeId(0);
/// Below it are stacks that ended before the thread's first function.
pub(crate) const CUT: NodeId = NodeId(1);
const ROOTS: u32 = 2;

/// Nodes with a frame of type `F` each.
#[derive(Debug)]
pub(crate) struct Trie<F> {
    nodes: Vec<(NodeId, F)>,
    /// The root below which each node is, and how many frames it has with its callers.
    roots: Vec<(NodeId, u32)>,
    children: HashMap<(NodeId, F), NodeId, FxBuildHasher>,
}

impl<F> Default for Trie<F> {
    fn default() -> Self {
        Self { nodes: Vec::new(), roots: Vec::new(), children: HashMap::default() }
    }
}

impl<F: Copy + Eq + std::hash::Hash> Trie<F> {
    /// The node of a frame that was called from `caller`.
    pub(crate) fn child(&mut self, caller: NodeId, frame: F) -> NodeId {
        let next = NodeId(self.nodes.len() as u32 + ROOTS);
        let id = *self.children.entry((caller, frame)).or_insert(next);
        if id == next {
            self.nodes.push((caller, frame));
            self.roots.push((self.root(caller), self.depth(caller).saturating_add(1)));
        }
        id
    }

    /// Caller and frame of a node, `None` for a root.
    pub(crate) fn get(&self, node: NodeId) -> Option<(NodeId, F)> {
        self.nodes.get(node.0.checked_sub(ROOTS)? as usize).copied()
    }

    /// Frames from the innermost outwards.
    pub(crate) fn frames(&self, node: NodeId) -> impl Iterator<Item = F> {
        self.nodes(node).map(|(_, frame)| frame)
    }

    /// The nodes of a stack and their frames, from the innermost outwards.
    pub(crate) fn nodes(&self, node: NodeId) -> impl Iterator<Item = (NodeId, F)> {
        let mut next = node;
        std::iter::from_fn(move || {
            let (caller, frame) = self.get(next)?;
            Some((std::mem::replace(&mut next, caller), frame))
        })
    }

    /// The frame of each node, with that of its caller.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (F, F)> {
        self.nodes.iter().filter_map(|&(caller, frame)| Some((self.get(caller)?.1, frame)))
    }

    /// Something of each node, made of that of its caller and of its own frame.
    pub(crate) fn fold<T: Copy>(&self, of_root: T, each: impl Fn(T, F) -> T) -> Folded<T> {
        let mut folded = Folded { of_root, of_node: Vec::with_capacity(self.nodes.len()) };
        for &(caller, frame) in &self.nodes {
            // Callers come before what they call.
            folded.of_node.push(each(folded.of(caller), frame));
        }
        folded
    }

    /// The root below which a node is.
    pub(crate) fn root(&self, node: NodeId) -> NodeId {
        let at = node.0.checked_sub(ROOTS);
        at.and_then(|at| self.roots.get(at as usize)).map_or(node, |known| known.0)
    }

    /// What each node calls.
    pub(crate) fn callees(&self) -> Callees {
        let mut first = vec![0u32; self.nodes.len() + ROOTS as usize + 1];
        self.nodes.iter().for_each(|(caller, _)| first[caller.0 as usize + 1] += 1);
        let mut before = 0;
        for count in &mut first {
            before += *count;
            *count = before;
        }
        let mut next = first.clone();
        let mut list = vec![WHOLE; self.nodes.len()];
        for (at, (caller, _)) in self.nodes.iter().enumerate() {
            let place = &mut next[caller.0 as usize];
            list[*place as usize] = NodeId(at as u32 + ROOTS);
            *place += 1;
        }
        Callees { first, list }
    }

    /// How many frames [`Trie::frames`] has.
    pub(crate) fn depth(&self, node: NodeId) -> u32 {
        let at = node.0.checked_sub(ROOTS);
        at.and_then(|at| self.roots.get(at as usize)).map_or(0, |known| known.1)
    }
}

/// Something of each node.
#[derive(Debug)]
pub(crate) struct Folded<T> {
    of_root: T,
    of_node: Vec<T>,
}

impl<T: Copy> Folded<T> {
    pub(crate) fn of(&self, node: NodeId) -> T {
        let at = node.0.checked_sub(ROOTS);
        at.and_then(|at| self.of_node.get(at as usize)).copied().unwrap_or(self.of_root)
    }
}

/// The nodes that each node calls, in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Callees {
    /// Where those of a node begin; they end where those of the next one begin.
    first: Vec<u32>,
    list: Vec<NodeId>,
}

impl Callees {
    pub(crate) fn of(&self, node: NodeId) -> &[NodeId] {
        let at = |node: u32| self.first.get(node as usize).map_or(0, |at| *at as usize);
        &self.list[at(node.0)..at(node.0 + 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_one_node() {
        let mut trie = Trie::default();
        let main = trie.child(WHOLE, 'm');
        let f = trie.child(main, 'f');
        assert_eq!(trie.child(main, 'f'), f);
        assert_ne!(trie.child(CUT, 'm'), main);
        assert_eq!(trie.frames(f).collect::<String>(), "fm");
        assert_eq!((trie.root(f), trie.root(CUT)), (WHOLE, CUT));
        assert_eq!((trie.depth(f), trie.depth(main), trie.depth(CUT)), (2, 1, 0));
        let g = trie.child(main, 'g');
        let names = trie.fold(0, |of_caller, frame| of_caller * 1000 + frame as u32);
        assert_eq!((names.of(WHOLE), names.of(main), names.of(g)), (0, 109, 109_103));
        assert_eq!(trie.nodes(g).collect::<Vec<_>>(), [(g, 'g'), (main, 'm')]);
        let callees = trie.callees();
        assert_eq!((callees.of(main), callees.of(f), callees.of(WHOLE)), (&[f, g][..], &[][..], &[main][..]));
    }
}
