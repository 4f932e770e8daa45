//! Source-level frames of locations.

use super::frame::Frame;
use super::modules::{ImageId, Images};
use super::owner::{FrameFacts, Owner, of_source, owner_of};
use super::stack_table::{Location, LocationId, StackTable};
use heapwise_trace::file::tables::Symbols;
use rustc_hash::{FxHashMap, FxHashSet};

/// A frame in storage: strings by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoredFrame {
    pub(crate) function: Option<u32>,
    pub(crate) file: Option<u32>,
    pub(crate) line: Option<u32>,
    pub(crate) inlined: bool,
    pub(crate) image: Option<ImageId>,
    /// Linked address (or that in the process, without an image) of a frame without a name. Zero with one: calls of
    /// the same line are the same frame.
    pub(crate) address: u64,
    /// Where the function of such a frame begins, if that is known.
    pub(crate) start: Option<u64>,
}

impl StoredFrame {
    /// The function that it is in, if that has a name or its beginning is known.
    pub(crate) fn function_id(&self) -> Option<FunctionId> {
        let Self { function, start, file, image, .. } = *self;
        (function.is_some() || start.is_some()).then_some(FunctionId { function, start, file, image })
    }
}

/// A function: functions of other files and images may have the same name, or begin at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FunctionId {
    function: Option<u32>,
    start: Option<u64>,
    file: Option<u32>,
    image: Option<ImageId>,
}

/// Index of a list of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FramesId(pub(crate) u32);

/// Names for the locations of a stack_table.
#[derive(Debug, Default)]
pub(crate) struct Names {
    strings: Vec<String>,
    string_ids: FxHashMap<String, u32>,
    lists: Vec<Box<[(StoredFrame, Owner)]>>,
    list_ids: FxHashMap<Box<[StoredFrame]>, FramesId>,
    of_location: Vec<FramesId>,
    /// Bytes from the beginning of a function to its first call that is on a stack, where that is known.
    first_calls: FxHashMap<FunctionId, u32>,
}

impl Names {
    /// Frames of all locations, from symbols of which later ones override earlier ones.
    pub(crate) fn new<'a>(
        stack_table: &StackTable,
        images: &Images,
        symbols: impl IntoIterator<Item = &'a Symbols>,
    ) -> Self {
        let mut names = Self::default();
        let mut frames: Vec<Vec<StoredFrame>> = vec![Vec::new(); stack_table.locations.len()];
        for symbols in symbols {
            let strings: Vec<u32> = symbols.strings.iter().map(|s| names.string(s)).collect();
            let string = |i: Option<u32>| i.and_then(|i| strings.get(i as usize).copied());
            for image in &symbols.images {
                let Some(id) = images.find(&image.path, &image.build_id) else { continue };
                for (svma, range) in &image.addresses {
                    let found = symbols.frames.get(range.start as usize..range.end as usize).unwrap_or(&[]);
                    let Some(location) = stack_table.find(Location::Image(id, *svma)) else { continue };
                    if found.is_empty() {
                        continue;
                    }
                    frames[location.0 as usize] = found
                        .iter()
                        .map(|f| {
                            let distance = f.distance_from_start();
                            let has_name = f.function.is_some();
                            let start = distance.and_then(|distance| svma.checked_sub(distance.into()));
                            let frame = StoredFrame {
                                function: string(f.function),
                                file: string(f.file),
                                line: f.line.filter(|_| f.file.is_some()),
                                inlined: f.inlined,
                                image: Some(id),
                                address: if has_name { 0 } else { *svma },
                                start: start.filter(|_| !has_name),
                            };
                            if let (Some(function), Some(distance)) = (frame.function_id(), distance) {
                                let first = names.first_calls.entry(function).or_insert(distance);
                                *first = distance.min(*first);
                            }
                            frame
                        })
                        .collect();
                }
            }
        }
        for (location, mut list) in stack_table.locations.iter().zip(frames) {
            if list.is_empty() {
                let (image, address) = match *location {
                    Location::Image(image, svma) => (Some(image), svma),
                    Location::Nowhere { address, .. } => (None, address),
                };
                let (function, file, line, inlined) = (None, None, None, false);
                list.push(StoredFrame { function, file, line, inlined, image, address, start: None });
            }
            let id = names.list(list, images);
            let id = names.without_wrapper(id, images);
            names.of_location.push(id);
        }
        names.name_constructors(stack_table, images);
        names
    }

    /// Functions without a name of which it is known what they are for: the loader and the C library have one function that calls those
    /// with which a file begins.
    fn name_constructors(&mut self, stack_table: &StackTable, images: &Images) {
        let Some(&caller) = self.string_ids.get("call_init") else { return };
        let begins = |list: &FramesId| {
            let innermost = self.frames(*list).first();
            innermost.is_some_and(|(frame, owner)| frame.function == Some(caller) && *owner == Owner::System)
        };
        let is_nameless = |location: LocationId| match self.frames(self.of_location(location)) {
            [(frame, _)] => frame.function.is_none() && frame.image.is_some(),
            _ => false,
        };
        // PERF: few locations are in that function, and a trie may have millions of nodes.
        let locations = self.of_location.iter().enumerate().filter(|(_, list)| begins(list));
        let beginnings: FxHashSet<LocationId> = locations.map(|(at, _)| LocationId(at as u32)).collect();
        let called = stack_table.trie.calls().filter(|(caller, _)| beginnings.contains(caller));
        let found: FxHashSet<LocationId> =
            called.map(|(_, called)| called).filter(|called| is_nameless(*called)).collect();
        let function = Some(self.string("constructor"));
        for location in found {
            let [(frame, _)] = self.frames(self.of_location(location)) else { continue };
            let named = StoredFrame { function, address: 0, start: None, ..*frame };
            self.of_location[location.0 as usize] = self.list(vec![named], images);
        }
    }

    fn string(&mut self, s: &str) -> u32 {
        if let Some(&id) = self.string_ids.get(s) {
            return id;
        }
        let id = self.strings.len() as u32;
        self.strings.push(s.to_owned());
        self.string_ids.insert(s.to_owned(), id);
        id
    }

    fn list(&mut self, frames: Vec<StoredFrame>, images: &Images) -> FramesId {
        if let Some(&id) = self.list_ids.get(frames.as_slice()) {
            return id;
        }
        let id = FramesId(self.lists.len() as u32);
        let owned = frames.iter().map(|f| {
            let module = f.image.map(|i| images.get(i).path.as_str());
            let facts = FrameFacts { function: self.text(f.function), file: self.text(f.file), module };
            (*f, owner_of(&facts))
        });
        self.lists.push(owned.collect());
        self.list_ids.insert(frames.into(), id);
        id
    }

    /// The same frames without those of heapwise's wrapper, which is as little part of a program's stacks as the preload
    /// library is.
    fn without_wrapper(&mut self, id: FramesId, images: &Images) -> FramesId {
        let frames = self.frames(id);
        let is_wrapper =
            |frame: &(StoredFrame, Owner)| frame.1 == Owner::Recorder && frame.0.function.is_some();
        if !frames.iter().any(is_wrapper) {
            return id;
        }
        let rest = frames.iter().filter(|frame| !is_wrapper(frame)).map(|frame| frame.0).collect();
        self.list(rest, images)
    }

    /// The name of a function, which is empty if there is none.
    pub(crate) fn name_of(&self, id: FunctionId) -> &str {
        self.text(id.function).unwrap_or_default()
    }

    /// Bytes from the beginning of a function to its first call that is on a stack, if its file has no lines.
    pub(crate) fn first_call(&self, id: FunctionId) -> Option<u32> {
        self.first_calls.get(&id).copied()
    }

    /// From now on these functions are wrappers of the allocator.
    pub(crate) fn pass_over(&mut self, wrappers: &FxHashSet<FunctionId>) {
        for (frame, owner) in self.lists.iter_mut().flatten() {
            if frame.function_id().is_some_and(|id| wrappers.contains(&id)) {
                *owner = Owner::Wrapper;
            }
        }
    }

    /// The package that has `main` is no dependency of the program, wherever its sources are: `cargo install` builds a program
    /// among the packages that it has fetched. Nor are those that are released with it.
    pub(crate) fn adopt_program(&mut self, images: &Images) {
        let of_main = self.lists.iter().flatten().filter_map(|(frame, owner)| {
            let is_main =
                |name: &str| name == "main" || name.ends_with("::main") || name.contains("::main::h");
            let file = self.text(frame.file).filter(|_| *owner == Owner::Dependency)?;
            self.text(frame.function).filter(|name| is_main(name))?;
            Some((frame.image?, file.to_owned()))
        });
        let programs: FxHashSet<(ImageId, String)> =
            of_main.filter(|(image, _)| !images.get(*image).path.contains(".so")).collect();
        if programs.is_empty() {
            return;
        }
        let Self { strings, lists, .. } = self;
        for (frame, owner) in lists.iter_mut().flatten().filter(|(_, owner)| *owner == Owner::Dependency) {
            let file = frame.file.and_then(|id| strings.get(id as usize));
            let source = file.and_then(|file| of_source(file));
            if let (Some(image), Some((package, root))) = (frame.image, source)
                && programs
                    .iter()
                    .filter(|(of, _)| *of == image)
                    .filter_map(|(_, main)| of_source(main))
                    .any(|(main, folder)| folder == root || package.is_released_with(&main))
            {
                *owner = Owner::User;
            }
        }
    }

    pub(crate) fn text(&self, id: Option<u32>) -> Option<&str> {
        self.strings.get(id? as usize).map(String::as_str)
    }

    pub(crate) fn of_location(&self, location: LocationId) -> FramesId {
        self.of_location[location.0 as usize]
    }

    /// A frame with its names.
    pub(crate) fn frame<'a>(
        &'a self,
        (stored, owner): &(StoredFrame, Owner),
        images: &'a Images,
    ) -> Frame<'a> {
        Frame {
            function: self.text(stored.function),
            file: self.text(stored.file),
            line: stored.line,
            inlined: stored.inlined,
            module: stored.image.map(|image| images.get(image)),
            address: stored.address,
            owner: *owner,
        }
    }

    /// Frames from the innermost outwards, each with its owner.
    pub(crate) fn frames(&self, id: FramesId) -> &[(StoredFrame, Owner)] {
        &self.lists[id.0 as usize]
    }
}
