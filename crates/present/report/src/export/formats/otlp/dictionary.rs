//! The tables that all profiles of a message share. The first entry of each stands for none.

use crate::export::heap_profile::Mappings;
use crate::export::stacks::Step;
use crate::export::text;
use heapwise_analysis::{Analysis, PlaceId};
use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::profiles::v1development::{
    Function, KeyValueAndUnit, Line, Link, Location, Mapping, ProfilesDictionary, Stack,
};
use rustc_hash::FxHashMap;

/// Tables that grow.
pub(super) struct Dictionary<'a> {
    analysis: &'a Analysis,
    tables: ProfilesDictionary,
    strings: FxHashMap<String, i32>,
    functions: FxHashMap<(i32, i32), i32>,
    locations: FxHashMap<Step<PlaceId>, i32>,
    /// By the number of the image in the analysis.
    mappings: FxHashMap<usize, i32>,
    covered: Mappings,
    /// Of every location that is code: it was compiled.
    native: i32,
}

impl<'a> Dictionary<'a> {
    pub(super) fn new(analysis: &'a Analysis) -> Self {
        let none = Link { trace_id: vec![0; 16], span_id: vec![0; 8] };
        let tables = ProfilesDictionary {
            mapping_table: vec![Mapping::default()],
            location_table: vec![Location::default()],
            function_table: vec![Function::default()],
            link_table: vec![none],
            string_table: vec![String::new()],
            attribute_table: vec![KeyValueAndUnit::default()],
            stack_table: vec![Stack::default()],
        };
        let mut dictionary = Self {
            analysis,
            tables,
            strings: std::iter::once((String::new(), 0)).collect(),
            functions: FxHashMap::default(),
            locations: FxHashMap::default(),
            mappings: FxHashMap::default(),
            covered: Mappings::default(),
            native: 0,
        };
        dictionary.native = dictionary.attribute("profile.frame.type", string("native".to_owned()));
        dictionary
    }

    pub(super) fn string(&mut self, text: &str) -> i32 {
        if let Some(&index) = self.strings.get(text) {
            return index;
        }
        let index = push(&mut self.tables.string_table, text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }

    /// A new attribute.
    pub(super) fn attribute(&mut self, key: &str, value: AnyValue) -> i32 {
        let key_strindex = self.string(key);
        let attribute = KeyValueAndUnit { key_strindex, value: Some(value), unit_strindex: 0 };
        push(&mut self.tables.attribute_table, attribute)
    }

    /// A new stack, the innermost step first.
    pub(super) fn stack(&mut self, steps: &[Step<PlaceId>]) -> i32 {
        let location_indices = steps.iter().map(|step| self.location(step)).collect();
        push(&mut self.tables.stack_table, Stack { location_indices })
    }

    fn location(&mut self, step: &Step<PlaceId>) -> i32 {
        if let Some(&index) = self.locations.get(step) {
            return index;
        }
        let location = match step {
            Step::Frame(id) => self.place(*id),
            mark => {
                let function_index = self.function(mark.mark().unwrap_or_default(), "");
                Location { lines: vec![Line { function_index, ..Line::default() }], ..Location::default() }
            }
        };
        let index = push(&mut self.tables.location_table, location);
        self.locations.insert(*step, index);
        index
    }

    fn place(&mut self, id: PlaceId) -> Location {
        let place = self.analysis.place(id);
        let mapping_index = place.module.map_or(0, |(image, _)| {
            self.covered.cover(image, place.address);
            let table = &mut self.tables.mapping_table;
            *self.mappings.entry(image).or_insert_with(|| push(table, Mapping::default()))
        });
        // A place without a name gets no line: readers show its address and object file.
        let named = place.frames.iter().filter(|frame| frame.function.is_some() || frame.file.is_some());
        let lines = named.map(|frame| {
            let file = text::file(frame).unwrap_or_default();
            let function_index = self.function(&text::function(frame), &file);
            Line { function_index, line: frame.line.map_or(0, i64::from), column: 0 }
        });
        let lines = lines.collect();
        Location { mapping_index, address: place.address, lines, attribute_indices: vec![self.native] }
    }

    fn function(&mut self, name: &str, file: &str) -> i32 {
        let (name_strindex, filename_strindex) = (self.string(name), self.string(file));
        let table = &mut self.tables.function_table;
        *self.functions.entry((name_strindex, filename_strindex)).or_insert_with(|| {
            push(table, Function { name_strindex, filename_strindex, ..Function::default() })
        })
    }

    /// All of them, with the object files, whose addresses are known now.
    pub(super) fn finish(mut self) -> ProfilesDictionary {
        for mapped in std::mem::take(&mut self.covered).list(self.analysis) {
            let Some(&index) = self.mappings.get(&mapped.image) else { continue };
            let (memory_start, memory_limit) = heapwise_trace::pprof::reach(mapped.covers, mapped.loaded);
            let attribute_indices = match mapped.build_id.is_empty() {
                true => Vec::new(),
                false => vec![self.attribute("process.executable.build_id.gnu", string(mapped.build_id))],
            };
            let mapping = Mapping {
                memory_start,
                memory_limit,
                file_offset: 0,
                filename_strindex: self.string(&mapped.path),
                attribute_indices,
            };
            self.tables.mapping_table[index as usize] = mapping;
        }
        self.tables
    }
}

/// A value that is text.
pub(super) fn string(text: String) -> AnyValue {
    AnyValue { value: Some(Value::StringValue(text)) }
}

/// The index of what is put at a table's end.
fn push<T>(table: &mut Vec<T>, entry: T) -> i32 {
    table.push(entry);
    i32::try_from(table.len() - 1).unwrap_or(i32::MAX)
}
