//! What is allocated at each line of source, and by what that line calls.
//!
//! A line has two sums. Its *own* one is that of the sites whose place it is ([`Site::user_frame`]): each site is in one line, so
//! these add up to the totals of all sites with a place. The *whole* one is that of all sites with the line anywhere in their
//! stack. A stack counts once for a line, however often the line is in it: a recursion does not multiply what it allocates.
//!
//! The sums are made in one walk through the tree of stacks. A program that calls itself ten thousand times has ten thousand stacks
//! of up to ten thousand frames, and going through each of them takes time with the square of it.

use crate::analysis::{Analysis, Site};
use crate::stacks::modules::{Image, ImageId};
use crate::stacks::names::{FramesId, StoredFrame};
use crate::stacks::owner::Owner;
use crate::stacks::trie::{CUT, NodeId, WHOLE};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::ops::AddAssign;

/// A source file with the lines that occur in stacks.
#[derive(Clone, Debug)]
pub struct FileSums<'a, T> {
    /// Its path as the debug information has it.
    pub path: &'a str,
    /// Whose code it is; the user's if any function in it is.
    pub owner: Owner,
    /// An object file that was built from it.
    pub module: Option<&'a Image>,
    /// Of the sites whose place is in it. What its lines have less is in frames without a line.
    pub own: T,
    /// Of the sites that have it anywhere in their stack.
    pub whole: T,
    /// Its lines, ascending.
    pub lines: Vec<LineSums<'a, T>>,
}

/// A line of a source file.
#[derive(Clone, Debug)]
pub struct LineSums<'a, T> {
    /// Its number, the first being 1.
    pub number: u32,
    /// The function that it is in; of several, the one of the site with the most bytes.
    pub function: Option<&'a str>,
    /// Of the sites whose place it is.
    pub own: T,
    /// Of the sites that have it anywhere in their stack.
    pub whole: T,
}

impl Analysis {
    /// Sums of what `of` says of each site, by the files and lines in their stacks. Files come in the order of the sites whose places
    /// are in them, then in that of the tree of stacks.
    pub fn files<T: Copy + Default + AddAssign>(&self, of: impl Fn(&Site) -> T) -> Vec<FileSums<'_, T>> {
        let mut sums = Sums::default();
        for site in &self.sites {
            let mut frames = self.stacks_by_name.frames(site.stack).flat_map(|list| self.names.frames(list));
            if let Some(frame) = site.user_frame.and_then(|at| frames.nth(at)) {
                for at in sums.places_of(frame) {
                    sums.places[at as usize].own += of(site);
                }
            }
        }
        self.walk(&mut sums, of);
        self.named(sums)
    }

    /// Adds what is at and below each node of the tree of stacks to the lines of its frames.
    fn walk<T: Copy + Default + AddAssign>(&self, sums: &mut Sums<T>, of: impl Fn(&Site) -> T) {
        let tree = &self.stacks_by_name;
        let callees = tree.callees();
        let at_node: FxHashMap<NodeId, &Site> = self.sites.iter().map(|site| (site.stack, site)).collect();
        let own = |node| at_node.get(&node).map_or_else(T::default, |site| of(site));
        for root in [WHOLE, CUT] {
            // A node with the callees that are still to be visited, and what was found below it so far.
            let mut path = vec![(root, callees.of(root).iter(), own(root))];
            while let Some((node, rest, _)) = path.last_mut() {
                if let Some(&callee) = rest.next() {
                    sums.enter(self, tree.get(callee).map(|(_, frames)| frames));
                    path.push((callee, callees.of(callee).iter(), own(callee)));
                    continue;
                }
                let frames = tree.get(*node).map(|(_, frames)| frames);
                let Some((_, _, below)) = path.pop() else { break };
                sums.leave(frames, below);
                if let Some((_, _, caller)) = path.last_mut() {
                    *caller += below;
                }
            }
        }
    }

    fn named<T: Copy>(&self, sums: Sums<T>) -> Vec<FileSums<'_, T>> {
        let mut files: Vec<FileSums<'_, T>> = Vec::new();
        let mut known: FxHashMap<u32, usize> = FxHashMap::default();
        // A file is entered before its lines.
        for Place { file, line, function, owner, image, own, whole, .. } in sums.places {
            match line {
                0 => {
                    known.insert(file, files.len());
                    let path = self.names.text(Some(file)).unwrap_or_default();
                    let module = image.map(|image| self.images.get(image));
                    files.push(FileSums { path, owner, module, own, whole, lines: Vec::new() });
                }
                number => {
                    let function = self.names.text(function);
                    if let Some(&at) = known.get(&file) {
                        files[at].lines.push(LineSums { number, function, own, whole });
                    }
                }
            }
        }
        files.iter_mut().for_each(|file| file.lines.sort_by_key(|line| line.number));
        files
    }
}

/// A line, or with the number 0 a whole file.
struct Place<T> {
    file: u32,
    line: u32,
    function: Option<u32>,
    owner: Owner,
    image: Option<ImageId>,
    own: T,
    whole: T,
    /// How often it is among the frames from the root to where the walk is.
    open: u32,
}

/// The sums while they are made.
struct Sums<T> {
    places: Vec<Place<T>>,
    by_line: FxHashMap<(u32, u32), u32>,
    /// Places of the frames of each call.
    of_call: FxHashMap<FramesId, Box<[u32]>>,
}

impl<T> Default for Sums<T> {
    fn default() -> Self {
        Self { places: Vec::new(), by_line: FxHashMap::default(), of_call: FxHashMap::default() }
    }
}

impl<T: Copy + Default + AddAssign> Sums<T> {
    /// The file of a frame and, if it is known, the line.
    fn places_of(&mut self, (frame, owner): &(StoredFrame, Owner)) -> impl Iterator<Item = u32> + use<T> {
        let file = frame.file.filter(|_| *owner != Owner::Recorder);
        let whole = file.map(|file| self.place(file, 0, frame, *owner));
        // Compilers give the number 0 to code that is of no line.
        let line = file.zip(frame.line.filter(|line| *line > 0));
        let line = line.map(|(file, line)| self.place(file, line, frame, *owner));
        whole.into_iter().chain(line)
    }

    fn place(&mut self, file: u32, line: u32, frame: &StoredFrame, owner: Owner) -> u32 {
        match self.by_line.entry((file, line)) {
            Entry::Occupied(known) => {
                let place = &mut self.places[*known.get() as usize];
                place.owner = place.owner.max(owner);
                *known.get()
            }
            Entry::Vacant(new) => {
                let (function, image) = (frame.function, frame.image);
                let (own, whole) = (T::default(), T::default());
                self.places.push(Place { file, line, function, owner, image, own, whole, open: 0 });
                *new.insert(self.places.len() as u32 - 1)
            }
        }
    }

    fn enter(&mut self, analysis: &Analysis, call: Option<FramesId>) {
        let Some(call) = call else { return };
        if !self.of_call.contains_key(&call) {
            let frames = analysis.names.frames(call).iter();
            let places = frames.flat_map(|frame| self.places_of(frame)).collect();
            self.of_call.insert(call, places);
        }
        for &at in &self.of_call[&call] {
            self.places[at as usize].open += 1;
        }
    }

    fn leave(&mut self, call: Option<FramesId>, below: T) {
        for &at in call.and_then(|call| self.of_call.get(&call)).into_iter().flatten() {
            let place = &mut self.places[at as usize];
            place.open -= 1;
            if place.open == 0 {
                place.whole += below;
            }
        }
    }
}
