//! pprof's format: gzip around a protobuf message, with everything that pprof has for heaps.
//!
//! The sample types are those of Go's heap profiles, which every reader of heap profiles supports. `alloc_*` is the whole run;
//! `inuse_*` is one moment, which a comment in the profile names. Names are in the file, so nothing has to be looked up again;
//! object files have their build ids for tools that need them.
//!
//! Addresses are as linked: `pprof -disasm` and `-list` find the instructions in the file without a load address.

use crate::export::format::{Format, Options};
use crate::export::heap_profile::{self, Mapped, Mappings};
use crate::export::moment::Moment;
use crate::export::stacks::{self, Step};
use crate::export::text;
use heapwise_analysis::{Analysis, PlaceId};
use heapwise_trace::pprof::{Encoder, Functions, Line, Location, Mapping, Profile, Sample, Strings, signed};
use std::io::{self, Write};

/// The format.
#[derive(Debug)]
pub(crate) struct Pprof;

impl Format for Pprof {
    fn name(&self) -> &'static str {
        "pprof"
    }

    fn about(&self) -> &'static str {
        "heap profile for pprof: go tool pprof, Pyroscope, Parca, speedscope"
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn has_one_moment(&self) -> bool {
        true
    }

    fn write(&self, analysis: &Analysis, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let moment = options.moment.unwrap_or_default();
        let mut pieces = Encoder::new(out);
        let mut tables = Tables::new(analysis);
        pieces.put(&tables.head(analysis, moment))?;
        stacks::for_each(analysis, stacks::MANY, |steps, numbers| {
            let location_id = steps.iter().map(|step| tables.location(step)).collect();
            let value = heap_profile::values(numbers, moment).to_vec();
            pieces.put(&Profile {
                sample: vec![Sample { location_id, value, label: Vec::new() }],
                ..Profile::default()
            })
        })?;
        tables.write(pieces)
    }
}

/// The tables that samples refer to.
struct Tables<'a> {
    analysis: &'a Analysis,
    strings: Strings,
    used: Vec<bool>,
    marks: [bool; 2],
}

impl<'a> Tables<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        Self {
            analysis,
            strings: Strings::default(),
            used: vec![false; analysis.n_places()],
            marks: [false; 2],
        }
    }

    fn head(&mut self, analysis: &Analysis, moment: Moment) -> Profile {
        let comments = heap_profile::comments(analysis, moment);
        let strings = &mut self.strings;
        Profile {
            time_nanos: signed(analysis.meta.started_unix_ns),
            duration_nanos: signed(analysis.duration.0),
            comment: comments.iter().map(|comment| strings.index(comment)).collect(),
            ..strings.head("inuse_space", heap_profile::period(analysis))
        }
    }

    /// The number of a location: places first, then the marks.
    fn location(&mut self, step: &Step<PlaceId>) -> u64 {
        match step {
            Step::Frame(id) => {
                self.used[id.0 as usize] = true;
                u64::from(id.0) + 1
            }
            mark => {
                let at = usize::from(*mark == Step::Cut);
                self.marks[at] = true;
                (self.used.len() + 1 + at) as u64
            }
        }
    }

    fn write<W: Write>(mut self, mut pieces: Encoder<W>) -> io::Result<()> {
        let mut mappings = Mappings::default();
        let mut functions = Functions::default();
        let used = std::mem::take(&mut self.used);
        for id in (0..used.len()).filter(|&id| used[id]) {
            let place = self.analysis.place(PlaceId(id as u32));
            // A place without a name gets no line: readers show its address and object file.
            let named = place.frames.iter().filter(|f| f.function.is_some() || f.file.is_some());
            let line = named.map(|frame| {
                let name = self.strings.index(&text::function(frame));
                let file = self.strings.index(&text::file(frame).unwrap_or_default());
                Line { function_id: functions.id(name, file), line: frame.line.map_or(0, i64::from) }
            });
            let location = Location {
                id: id as u64 + 1,
                address: place.address,
                line: line.collect(),
                mapping_id: place.module.map_or(0, |(module, _)| {
                    mappings.cover(module, place.address);
                    mapping_id(module)
                }),
            };
            pieces.put(&Profile { location: vec![location], ..Profile::default() })?;
        }
        for (at, mark) in [Step::<PlaceId>::Omitted, Step::Cut].iter().enumerate().filter(|m| self.marks[m.0])
        {
            let name = self.strings.index(mark.mark().unwrap_or_default());
            let line = vec![Line { function_id: functions.id(name, 0), line: 0 }];
            let id = (used.len() + 1 + at) as u64;
            let location = Location { id, line, ..Location::default() };
            pieces.put(&Profile { location: vec![location], ..Profile::default() })?;
        }
        let mapping = mappings.list(self.analysis).iter().map(|mapped| self.mapping(mapped)).collect();
        pieces.put(&Profile { mapping, ..Profile::default() })?;
        pieces.finish(functions, self.strings).map(drop)
    }

    fn mapping(&mut self, mapped: &Mapped) -> Mapping {
        let (filename, build_id) = (self.strings.index(&mapped.path), self.strings.index(&mapped.build_id));
        Mapping::as_linked(mapping_id(mapped.image), mapped.covers, mapped.loaded, filename, build_id)
    }
}

fn mapping_id(image: usize) -> u64 {
    image as u64 + 1
}
