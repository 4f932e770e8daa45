//! Stacks as one tree of frames, from the outermost function inwards.
//!
//! A *node* is a frame in the context of its callers, and number 0 is the root. A node comes after its caller, so one pass from
//! back to front adds up what is below each.

use super::strings::Strings;
use crate::names;
use heapwise_analysis::owner::Owner;
use heapwise_analysis::{Analysis, CallSpot, Context, Frame, Site};
use serde::Serialize;
use std::collections::HashMap;

/// The frames, a column per fact; strings by their numbers.
#[derive(Debug, Default, Serialize)]
pub(super) struct Frames {
    /// Short, for a table.
    name: Vec<u32>,
    function: Vec<u32>,
    file: Vec<u32>,
    /// The file's path, short.
    path: Vec<u32>,
    /// 0 where it is not known.
    line: Vec<u32>,
    module: Vec<u32>,
    /// The owner of its code: 0 recorder, 1 system, 2 Rust's library, 3 C++'s, 4 a dependency, 5 the user.
    owner: Vec<u8>,
    inlined: Vec<u8>,
}

#[derive(Debug, Serialize)]
pub(super) struct Nodes {
    /// The distance to its caller, which is before it.
    up: Vec<u32>,
    frame: Vec<u32>,
}

/// The tree while it grows.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    analysis: &'a Analysis,
    folder: Option<&'a str>,
    pub(super) frames: Frames,
    pub(super) nodes: Nodes,
    callers: Vec<u32>,
    /// The path of the source file on disk, by frame.
    files: Vec<Option<&'a str>>,
    frame_numbers: HashMap<FrameKey<'a>, u32>,
    places: HashMap<CallSpot, Vec<u32>>,
    contexts: HashMap<Context, u32>,
    children: HashMap<(u32, u32), u32>,
    cut: Option<u32>,
}

type FrameKey<'a> = (Option<&'a str>, Option<&'a str>, Option<u32>, Option<&'a str>, u64, bool);

impl<'a> Tree<'a> {
    pub(super) fn new(analysis: &'a Analysis, folder: Option<&'a str>, strings: &mut Strings) -> Self {
        let mut tree = Self {
            analysis,
            folder,
            frames: Frames::default(),
            nodes: Nodes { up: vec![0], frame: vec![0] },
            callers: vec![0],
            files: Vec::new(),
            frame_numbers: HashMap::new(),
            places: HashMap::new(),
            contexts: HashMap::new(),
            children: HashMap::new(),
            cut: None,
        };
        tree.push_frame("everything", None, strings);
        tree
    }

    /// The node of the innermost frame of a site.
    pub(super) fn enter(&mut self, site: &Site, strings: &mut Strings) -> u32 {
        let mut new = Vec::new();
        let mut at = self.analysis.context(site);
        let mut node = loop {
            if let Some(&node) = self.contexts.get(&at) {
                break node;
            }
            let Some((caller, place)) = self.analysis.call(at) else {
                break if site.cut { self.cut(strings) } else { 0 };
            };
            new.push((at, place));
            at = caller;
        };
        for (context, place) in new.into_iter().rev() {
            // One number at a time: the list of a place is short, and borrowing it would borrow the tree.
            for i in 0..self.place(place, strings) {
                let frame = self.places[&place][i];
                node = self.child(node, frame);
            }
            self.contexts.insert(context, node);
        }
        node
    }

    /// The node so many frames outside of another.
    pub(super) fn outwards(&self, node: u32, frames: usize) -> u32 {
        (0..frames).fold(node, |node, _| self.callers[node as usize])
    }

    /// The frame of a node.
    pub(super) fn frame_of(&self, node: u32) -> u32 {
        self.nodes.frame[node as usize]
    }

    /// File and line of a frame.
    pub(super) fn source_of(&self, frame: u32) -> Option<(&'a str, u32)> {
        let line = self.frames.line[frame as usize];
        self.files[frame as usize].filter(|_| line > 0).map(|file| (file, line))
    }

    /// Stacks that ended early begin at this node.
    fn cut(&mut self, strings: &mut Strings) -> u32 {
        if let Some(node) = self.cut {
            return node;
        }
        let frame = self.push_frame("(outer frames unknown)", None, strings);
        let node = self.child(0, frame);
        self.cut = Some(node);
        node
    }

    fn child(&mut self, caller: u32, frame: u32) -> u32 {
        let next = self.callers.len() as u32;
        let node = *self.children.entry((caller, frame)).or_insert(next);
        if node == next {
            self.callers.push(caller);
            self.nodes.up.push(next - caller);
            self.nodes.frame.push(frame);
        }
        node
    }

    /// Enters the frames of a place, outermost first, and returns their number.
    fn place(&mut self, place: CallSpot, strings: &mut Strings) -> usize {
        if let Some(frames) = self.places.get(&place) {
            return frames.len();
        }
        let analysis = self.analysis;
        let frames: Vec<u32> =
            analysis.frames(place).rev().map(|frame| self.frame(&frame, strings)).collect();
        let n = frames.len();
        self.places.insert(place, frames);
        n
    }

    fn frame(&mut self, frame: &Frame<'a>, strings: &mut Strings) -> u32 {
        let module = frame.module.map(|m| m.path.as_str());
        let key = (frame.function, frame.file, frame.line, module, frame.address, frame.inlined);
        if let Some(&number) = self.frame_numbers.get(&key) {
            return number;
        }
        let name = match (frame.function, module) {
            (Some(function), _) => names::function(function),
            (None, Some(module)) => format!("{}+{:#x}", last_part(module), frame.address),
            (None, None) => format!("{:#x} (no module)", frame.address),
        };
        let number = self.push_frame(&name, Some(frame), strings);
        self.frame_numbers.insert(key, number);
        number
    }

    fn push_frame(&mut self, name: &str, frame: Option<&Frame<'a>>, strings: &mut Strings) -> u32 {
        let number = self.files.len() as u32;
        let file = frame.and_then(|f| f.file);
        let short = file.map_or_else(String::new, |file| names::file(file, self.folder));
        let columns = &mut self.frames;
        columns.name.push(strings.number(name));
        columns.function.push(strings.number(frame.and_then(|f| f.function).unwrap_or_default()));
        columns.file.push(strings.number(file.unwrap_or_default()));
        columns.path.push(strings.number(&short));
        columns.line.push(frame.and_then(|f| f.line).unwrap_or(0));
        columns.module.push(strings.number(frame.and_then(|f| f.module).map_or("", |m| m.path.as_str())));
        columns.owner.push(frame.map_or(1, |f| owner_number(f.owner)));
        columns.inlined.push(frame.is_some_and(|f| f.inlined).into());
        self.files.push(file);
        number
    }
}

fn owner_number(owner: Owner) -> u8 {
    match owner {
        Owner::Recorder => 0,
        // A wrapper belongs to the allocator, whoever wrote it.
        Owner::System | Owner::Wrapper => 1,
        Owner::RustStd => 2,
        Owner::CxxStd => 3,
        Owner::Dependency => 4,
        Owner::User => 5,
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
