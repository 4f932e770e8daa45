//! pprof's format: gzip around a protobuf message, with everything that pprof has for heaps.
//!
//! The sample types are those of Go's heap profiles, which every reader of heap profiles supports. `alloc_*` is the whole run;
//! `inuse_*` is one moment, which a comment in the profile names. Names are in the file, so nothing has to be looked up again;
//! object files have their build ids for tools that need them.
//!
//! Addresses are as linked, and each object file is mapped where it was linked to be: that is the same in every run, and
//! `pprof -disasm` and `-list` find the instructions in the file without a load address.

use crate::export::format::{Format, Options};
use crate::export::moment::Moment;
use crate::export::stacks::{self, Step};
use crate::export::text;
use heapwise_analysis::{Analysis, Numbers, PlaceId};
use heapwise_trace::pprof::{
    Encoder, Functions, Line, Loaded, Location, Mapping, Profile, Sample, Strings, signed,
};
use rustc_hash::FxHashMap;
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
            let value = values(numbers, moment);
            pieces.put(&Profile {
                sample: vec![Sample { location_id, value, label: Vec::new() }],
                ..Profile::default()
            })
        })?;
        tables.write(pieces)
    }
}

/// In the order of the sample types in [`Tables::head`].
fn values(numbers: &Numbers, moment: Moment) -> Vec<i64> {
    let (blocks, bytes) = match moment {
        Moment::Peak => (numbers.peak_blocks, numbers.peak_bytes),
        Moment::Exit => (numbers.live_at_exit_blocks, numbers.live_at_exit_bytes),
    };
    [numbers.allocations, numbers.allocated_bytes, blocks, bytes].map(signed).to_vec()
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
        let comments = comments(analysis, moment);
        let strings = &mut self.strings;
        // The period: without sampling, every byte was recorded.
        Profile {
            time_nanos: signed(analysis.meta.started_unix_ns),
            duration_nanos: signed(analysis.duration.0),
            comment: comments.iter().map(|comment| strings.index(comment)).collect(),
            ..strings.head("inuse_space", 1)
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
                mapping_id: place.module.map_or(0, |(module, _)| mappings.id(module, place.address)),
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
        let mapping = mappings.list(self.analysis, &mut self.strings);
        pieces.put(&Profile { mapping, ..Profile::default() })?;
        pieces.finish(functions, self.strings).map(drop)
    }
}

fn comments(analysis: &Analysis, moment: Moment) -> Vec<String> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let when = match moment {
        Moment::Peak => {
            // The recorder's clock is coarser than that of the run's end.
            let at = seconds(analysis.memory.live_peak_at.0);
            format!("inuse is what was live {at:.3} s after the start, when the live bytes were highest")
        }
        Moment::Exit => "inuse is what was live when each process ended".to_owned(),
    };
    let command: Vec<_> = analysis.meta.command.iter().map(|part| text::harmless(part)).collect();
    let mut comments = vec![
        format!("heapwise {}: {}", text::harmless(&analysis.meta.heapwise), command.join(" ")),
        when,
        format!(
            "alloc_space includes the bytes of {} reallocations, which are no objects in alloc_objects",
            analysis.totals.reallocations
        ),
    ];
    comments.extend(analysis.warnings.iter().map(|w| format!("warning: {}", text::harmless(&w.to_string()))));
    comments
}

/// Object files that occur, with the addresses that each has to cover.
#[derive(Default)]
struct Mappings {
    ranges: FxHashMap<usize, (u64, u64)>,
}

impl Mappings {
    fn id(&mut self, module: usize, address: u64) -> u64 {
        let (from, to) = self.ranges.entry(module).or_insert((address, address));
        (*from, *to) = ((*from).min(address), (*to).max(address));
        module as u64 + 1
    }

    /// The program itself has to come first.
    fn list(self, analysis: &Analysis, strings: &mut Strings) -> Vec<Mapping> {
        let images = analysis.images();
        let mut modules: Vec<_> =
            self.ranges.into_iter().filter(|(module, _)| *module < images.len()).collect();
        modules.sort_unstable();
        let program = analysis.processes.first().and_then(|p| p.command.first());
        let program = program.map_or("", |name| text::last_part(name));
        // What was started may be a link: `python3` is a file `python3.11`.
        modules.sort_by_key(|&(module, _)| {
            let name = text::last_part(&images[module].path);
            (name != program, !name.starts_with(program), name.contains(".so") || name.starts_with('['))
        });
        let mappings = modules.into_iter().map(|(module, range)| {
            let image = &images[module];
            let mut infos = analysis.processes.iter().flat_map(|p| &p.modules);
            let info = infos.find(|info| info.path == image.path && info.build_id == image.build_id);
            let loaded = info.map(|info| Loaded { start: info.start, end: info.end, bias: info.bias });
            let filename = strings.index(&text::harmless(&image.path));
            let build_id = strings.index(&text::harmless(&image.build_id));
            Mapping::as_linked(module as u64 + 1, range, loaded, filename, build_id)
        });
        mappings.collect()
    }
}
