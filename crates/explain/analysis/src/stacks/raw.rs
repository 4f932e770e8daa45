//! The trie of one process as it was recorded.

use crate::budget::{Budget, price};
use heapwise_trace::file::tables::Nodes;
use heapwise_trace::live::layout::{MAX_NODE_CHUNKS, NODES_PER_CHUNK};

/// Nodes by id. They come in runs, in any order and again: the later one counts.
#[derive(Debug, Default)]
pub(crate) struct RawTrie {
    chunks: Vec<Vec<(u32, u64)>>,
}

impl RawTrie {
    /// Adds a run of nodes as far as the budget allows. Ids that no recorder hands out are ignored.
    pub(crate) fn add(&mut self, nodes: &Nodes, budget: &Budget) {
        for (i, &node) in nodes.nodes.iter().enumerate() {
            let Some(id) = u32::try_from(i).ok().and_then(|i| nodes.first_id.checked_add(i)) else { return };
            let (chunk, at) = ((id / NODES_PER_CHUNK) as usize, (id % NODES_PER_CHUNK) as usize);
            if chunk >= MAX_NODE_CHUNKS {
                return;
            }
            // A key of 0 is a node that was not published yet; it does not replace one that was.
            if node.1 == 0 {
                continue;
            }
            if self.chunks.len() <= chunk {
                self.chunks.resize_with(chunk + 1, Vec::new);
            }
            let chunk = &mut self.chunks[chunk];
            if chunk.len() <= at {
                let len = (at + 1).next_power_of_two();
                if !budget.keep(((len - chunk.len()) * size_of::<(u32, u64)>()) as u64) {
                    return;
                }
                chunk.resize(len, (0, 0));
            }
            if chunk[at].1 == 0 && !budget.keep(price::NODE) {
                return;
            }
            chunk[at] = node;
        }
    }

    /// The nodes that were published.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.chunks.iter().enumerate().flat_map(|(chunk, nodes)| {
            let first = chunk as u32 * NODES_PER_CHUNK;
            (first..).zip(nodes).filter(|(_, node)| node.1 != 0).map(|(id, _)| id)
        })
    }

    /// Parent and key of a node, if it was published.
    pub(crate) fn get(&self, id: u32) -> Option<(u32, u64)> {
        let chunk = self.chunks.get((id / NODES_PER_CHUNK) as usize)?;
        chunk.get((id % NODES_PER_CHUNK) as usize).copied().filter(|n| n.1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::file::records::ProcessIndex;

    #[test]
    fn later_nodes_count_and_unpublished_ones_do_not() {
        let mut trie = RawTrie::default();
        let nodes = |first_id, nodes: &[(u32, u64)]| Nodes {
            process: ProcessIndex(0),
            first_id,
            nodes: nodes.to_vec(),
        };
        let budget = Budget::default();
        trie.add(&nodes(70_000, &[(1, 10), (2, 20)]), &budget);
        trie.add(&nodes(70_000, &[(3, 30), (0, 0)]), &budget);
        trie.add(&nodes(u32::MAX - 1, &[(3, 30), (0, 0)]), &budget);
        assert_eq!([trie.get(70_000), trie.get(70_001), trie.get(5)], [Some((3, 30)), Some((2, 20)), None]);
        assert_eq!(trie.get(u32::MAX - 1), None);
        assert_eq!(trie.ids().collect::<Vec<_>>(), [70_000, 70_001]);
    }
}
