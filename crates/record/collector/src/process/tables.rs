//! Reads the tables that a process writes besides its events: modules, names of marks, and the nodes of its trie.

use super::{Common, Process};
use crate::distrust;
use crate::news::News;
use crate::refusals::{Refusals, Refused};
use heapwise_trace::file::tables::{MarkNames, Nodes};
use heapwise_trace::live::layout::{
    MARK_LOG_BYTES, MAX_MARK_NAMES, MAX_NODE_CHUNKS, MAX_RINGS, MODULE_LOG_BYTES, NODES_PER_CHUNK, NodeRecord,
};
use heapwise_trace::live::marks;
use std::sync::atomic::Ordering;

/// How far the nodes were read.
#[derive(Debug, Default)]
pub(super) struct NodesRead {
    pub(super) count: u32,
    /// How often an unpublished node has held up the reading.
    waited: u32,
    /// Unpublished nodes that were passed.
    missing: usize,
    /// Chunks that were checked to lie where chunks can be.
    chunks: Vec<u64>,
    /// Nothing is read any more.
    is_refused: bool,
}

impl NodesRead {
    /// None yet: the first one has the id 1.
    pub(super) fn new() -> Self {
        Self { count: 1, ..Self::default() }
    }
}

/// Unpublished nodes are waited for this many times; then their thread must have been killed in between.
const NODE_PATIENCE: u32 = 50;
/// Nodes that are handed on at once. If there are more, events wait.
const MOST_NODES: usize = 1 << 18;

impl Process {
    /// Reads modules, names of marks and nodes that are new. If all of them were read, which is the result, every node and name
    /// that occurs in events drained before is among them.
    pub(crate) fn read_tables(&mut self, common: &mut Common<'_>, news: &mut News, at_end: bool) -> bool {
        self.read_modules(news);
        self.read_mark_names(news);
        self.read_nodes(common, news, at_end)
    }

    fn read_modules(&mut self, news: &mut News) {
        let len = distrust::at_most(&self.header().module_log_len, MODULE_LOG_BYTES);
        if len <= self.modules_read {
            return;
        }
        let log = self.header().module_log.load(Ordering::Acquire);
        let bytes = self
            .arenas
            .find(log)
            .and_then(|(mapping, at)| mapping.copy_bytes(at + self.modules_read, len - self.modules_read));
        let mut rest = bytes.as_deref().unwrap_or(&[]);
        while let Some((module, used)) = distrust::module_record(rest, self.info.index) {
            news.modules.push(module);
            rest = &rest[used..];
        }
        self.modules_read = len;
    }

    fn read_mark_names(&mut self, news: &mut News) {
        let (from, known) = self.marks_read;
        let len = distrust::at_most(&self.header().mark_log_len, MARK_LOG_BYTES);
        if len <= from {
            return;
        }
        let log = self.header().mark_log.load(Ordering::Acquire);
        // It may lie in an arena that is not mapped yet: then it is read the next time.
        let place = self.arenas.find(log);
        let Some(bytes) = place.and_then(|(mapping, at)| mapping.copy_bytes(at + from, len - from)) else {
            return;
        };
        let mut rest = bytes.as_slice();
        let mut names = Vec::new();
        while let Some((name, used)) = marks::name_at(rest)
            && known + names.len() < MAX_MARK_NAMES
        {
            names.push(String::from_utf8_lossy(name).into_owned());
            rest = &rest[used..];
        }
        self.marks_read = (len - rest.len(), known + names.len());
        if !names.is_empty() {
            let first_id = marks::id_of(known).0;
            news.mark_names.push(MarkNames { process: self.info.index, first_id, names });
        }
    }

    fn read_nodes(&mut self, common: &mut Common<'_>, news: &mut News, at_end: bool) -> bool {
        let most = MAX_NODE_CHUNKS * NODES_PER_CHUNK as usize;
        let count = distrust::at_most(&self.header().node_count, most) as u32;
        let room = MOST_NODES.saturating_sub(news.node_count());
        let first_id = self.nodes.count;
        let mut nodes = Vec::new();
        let mut is_waiting = false;
        while self.nodes.count < count && nodes.len() < room && !self.nodes.is_refused && !is_waiting {
            let id = self.nodes.count;
            let (key, parent) = self.node(id, common).unwrap_or_default();
            is_waiting = key == 0 && !at_end && self.nodes.waited < NODE_PATIENCE;
            if is_waiting {
                self.nodes.waited += 1;
            } else {
                self.note_node(key, common.refusals);
                nodes.push((parent, key));
                self.nodes.count = id + 1;
            }
        }
        if !nodes.is_empty() {
            news.nodes.push(Nodes { process: self.info.index, first_id, nodes });
        }
        self.nodes.count >= count || self.nodes.is_refused || is_waiting
    }

    /// A killed thread can leave one node that was never written. More such nodes than there can be threads are an
    /// error.
    fn note_node(&mut self, key: u64, refusals: &mut Refusals) {
        self.nodes.waited = 0;
        self.nodes.missing += usize::from(key == 0);
        if self.nodes.missing > MAX_RINGS {
            self.nodes.is_refused = true;
            let pid = self.info.pid;
            refusals.note(Refused::Nodes, || format!("process {pid} counts nodes that it has not written"));
        }
    }

    /// Key and parent of a node; `None` if its chunk is not there.
    fn node(&mut self, id: u32, common: &mut Common<'_>) -> Option<(u64, u32)> {
        let chunk = (id / NODES_PER_CHUNK) as usize;
        if self.nodes.chunks.len() == chunk {
            let bytes = u64::from(NODES_PER_CHUNK) * size_of::<NodeRecord>() as u64;
            let offset = self.header().node_chunks[chunk].load(Ordering::Acquire);
            if offset == 0 {
                return None;
            }
            if !self.arenas.holds(offset, bytes) {
                self.map_new_arenas(common);
            }
            if !self.arenas.holds(offset, bytes) || !self.arenas.extents.take(offset, bytes) {
                self.nodes.is_refused = true;
                let pid = self.info.pid;
                common.refusals.note(Refused::Nodes, || format!("process {pid} has none at {offset:#x}"));
                return None;
            }
            self.nodes.chunks.push(offset);
        }
        let at =
            self.nodes.chunks.get(chunk)? + u64::from(id % NODES_PER_CHUNK) * size_of::<NodeRecord>() as u64;
        let record = self.arenas.get::<NodeRecord>(at)?;
        Some((record.key.load(Ordering::Acquire), record.parent.load(Ordering::Relaxed)))
    }
}
