//! Adds stacks to the shared tables.

use super::tables::{Indices, Lib, Shared, breakpad_id};
use crate::export::stacks::Step;
use crate::export::text;
use heapwise_analysis::owner::Owner;
use heapwise_analysis::{Analysis, Frame, Place, PlaceId};

/// Categories by the owner of a frame's code, with colours that Firefox knows. The default has to be grey and first.
pub(super) const CATEGORIES: &[(&str, &str)] = &[
    ("Other", "grey"),
    ("Your code", "yellow"),
    ("Dependency", "green"),
    ("Standard library", "blue"),
    ("System", "purple"),
];

fn category(owner: Owner) -> usize {
    match owner {
        Owner::User => 1,
        Owner::Dependency => 2,
        Owner::RustStd | Owner::CxxStd => 3,
        Owner::System | Owner::Wrapper => 4,
        Owner::Recorder => 0,
    }
}

/// The value of `resourceTable.type` for an object file.
const LIBRARY: u32 = 1;

#[derive(Debug)]
pub(super) struct Builder<'a> {
    analysis: &'a Analysis,
    pub(super) shared: Shared,
    pub(super) libs: Vec<Lib>,
    strings: Indices<String>,
    sources: Indices<usize>,
    /// Object files by their index in the analysis; library and resource have the same index.
    modules: Indices<usize>,
    functions: Indices<(usize, i64, Option<usize>)>,
    stacks: Indices<(Option<usize>, usize)>,
    /// First frame and number of frames of a place, from the innermost outwards; none if it was not used yet.
    of_place: Vec<(usize, usize)>,
    of_mark: [Option<usize>; 2],
}

impl<'a> Builder<'a> {
    pub(super) fn new(analysis: &'a Analysis) -> Self {
        Self {
            analysis,
            shared: Shared::default(),
            libs: Vec::new(),
            strings: Indices::default(),
            sources: Indices::default(),
            modules: Indices::default(),
            functions: Indices::default(),
            stacks: Indices::default(),
            of_place: vec![(0, 0); analysis.n_places()],
            of_mark: [None; 2],
        }
    }

    /// The index of a stack, whose steps go from the innermost outwards. `None` for an empty one.
    pub(super) fn stack(&mut self, steps: &[Step<PlaceId>]) -> Option<usize> {
        let mut stack = None;
        for step in steps.iter().rev() {
            let (first, n) = self.frames(step);
            for frame in (first..first + n).rev() {
                let (index, new) = self.stacks.of((stack, frame));
                if new {
                    let table = &mut self.shared.stack_table;
                    table.prefix.push(stack);
                    table.frame.push(frame);
                    table.length += 1;
                }
                stack = Some(index);
            }
        }
        stack
    }

    fn frames(&mut self, step: &Step<PlaceId>) -> (usize, usize) {
        match step {
            Step::Frame(id) => {
                let at = id.0 as usize;
                if self.of_place[at].1 == 0 {
                    self.of_place[at] = self.add_place(*id);
                }
                self.of_place[at]
            }
            mark => {
                let at = usize::from(*mark == Step::Cut);
                let frame = self.of_mark[at].unwrap_or_else(|| {
                    let function = self.function(mark.mark().unwrap_or_default(), -1, None);
                    self.add_frame(-1, 0, 0, function, None)
                });
                self.of_mark[at] = Some(frame);
                (frame, 1)
            }
        }
    }

    fn add_place(&mut self, id: PlaceId) -> (usize, usize) {
        let place = self.analysis.place(id);
        let resource = place.module.map_or(-1, |_| self.module(&place) as i64);
        // The format's addresses have 32 bits, and are only meaningful together with an object file.
        let address = if resource < 0 { None } else { u32::try_from(place.address).ok() };
        let address = address.map_or(-1, i64::from);
        let first = self.shared.frame_table.length;
        let n = place.frames.len();
        for (at, frame) in place.frames.iter().enumerate() {
            let source = self.source(frame);
            // The Profiler writes the object file in front of the name.
            let name = match frame.function {
                None if resource >= 0 => format!("0x{:x}", place.address).into(),
                _ => text::function(frame),
            };
            let function = self.function(&name, resource, source);
            self.add_frame(address, n - 1 - at, category(frame.owner), function, frame.line);
        }
        (first, n)
    }

    fn add_frame(
        &mut self,
        address: i64,
        depth: usize,
        category: usize,
        function: usize,
        line: Option<u32>,
    ) -> usize {
        let table = &mut self.shared.frame_table;
        table.address.push(address);
        table.inline_depth.push(depth);
        table.category.push(category);
        table.subcategory.push(0);
        table.func.push(function);
        table.native_symbol.push(None);
        table.inner_window_id.push(0);
        table.line.push(line);
        table.column.push(None);
        table.length += 1;
        table.length - 1
    }

    fn function(&mut self, name: &str, resource: i64, source: Option<usize>) -> usize {
        let name = self.string(name);
        let (index, new) = self.functions.of((name, resource, source));
        if new {
            let table = &mut self.shared.func_table;
            table.name.push(name);
            table.is_js.push(false);
            table.relevant_for_js.push(false);
            table.resource.push(resource);
            table.source.push(source);
            table.line_number.push(None);
            table.column_number.push(None);
            table.length += 1;
        }
        index
    }

    fn source(&mut self, frame: &Frame<'_>) -> Option<usize> {
        let name = self.string(&text::file(frame)?);
        let (index, new) = self.sources.of(name);
        if new {
            let table = &mut self.shared.sources;
            table.id.push(None);
            table.filename.push(name);
            table.start_line.push(1);
            table.start_column.push(1);
            table.source_map_url.push(None);
            table.length += 1;
        }
        Some(index)
    }

    fn module(&mut self, place: &Place<'_>) -> usize {
        let Some((module, image)) = place.module else { return 0 };
        let (index, new) = self.modules.of(module);
        if new {
            let path = text::harmless(&image.path).into_owned();
            let name = text::last_part(&path).to_owned();
            let string = self.string(&name);
            let build_id = text::harmless(&image.build_id).into_owned();
            self.libs.push(Lib {
                arch: text::harmless(&self.analysis.meta.architecture).into_owned(),
                debug_name: name.clone(),
                name,
                debug_path: path.clone(),
                path,
                breakpad_id: breakpad_id(&build_id),
                code_id: (!build_id.is_empty()).then_some(build_id),
            });
            let table = &mut self.shared.resource_table;
            table.kind.push(LIBRARY);
            table.lib.push(Some(index));
            table.name.push(string);
            table.host.push(None);
            table.length += 1;
        }
        index
    }

    pub(super) fn string(&mut self, text: &str) -> usize {
        let (index, new) = self.strings.of(text.to_owned());
        if new {
            self.shared.string_array.push(text.to_owned());
        }
        index
    }
}
