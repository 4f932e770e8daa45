//! Recordings that are well formed and mean nothing: records in any order, that name processes, threads and stacks
//! that there are not, twice, or in a circle, and clocks that run backwards.

use crate::frame::RawSection;
use crate::number::Number;
use arbitrary::Arbitrary;
use heapwise_trace::event::{AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::carried::{Carried, CarriedBlock};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::pages::{MappedPages, MappingKind, PageRun, Reason, Snapshot, UsableSizes};
use heapwise_trace::file::records::{
    AllocatorInside, BlindSpot, Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, Refusal, RunEnd,
    ThreadEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{
    ClockReadings, ImageSymbols, MarkNames, Nodes, Sample, Samples, SymbolFrame, Symbols,
};
use heapwise_trace::file::{Error, Writer};
use heapwise_trace::live::node::{EXACT_PC, root_key};
use heapwise_trace::live::words::{self, MAX_WORDS};

/// A whole recording.
#[derive(Arbitrary, Clone, Debug)]
pub struct Recording {
    command: Vec<String>,
    pieces: Vec<Piece>,
    /// Bytes of the finished file to be changed, which mostly ends it there: place and change.
    pub damage: Vec<(Number, u8)>,
}

/// One section.
#[derive(Arbitrary, Clone, Debug)]
enum Piece {
    Process {
        index: Number,
        forked_from: Option<Number>,
        start: Number,
        pid: u32,
        command: Vec<String>,
    },
    Thread {
        index: Number,
        process: Number,
        handle: Number,
        name: String,
    },
    Module {
        process: Number,
        generation: Number,
        start: Number,
        len: Number,
        bias: Number,
        path: Path,
    },
    Events {
        watermark: Number,
        blocks: Vec<AnyBlock>,
    },
    Nodes {
        process: Number,
        first: Number,
        nodes: Vec<Node>,
    },
    Clock(Vec<(Number, Number)>),
    Samples(Vec<(Number, Number, Number)>),
    Snapshot {
        process: Number,
        epoch: Number,
        reason: u8,
        rss: Number,
        mappings: Vec<AnyMapping>,
    },
    MarkNames {
        process: Number,
        first: Number,
        names: Vec<String>,
    },
    Carried {
        process: Number,
        thread: Number,
        stack: Number,
        allocator: u8,
        /// Address, size and age of each.
        blocks: Vec<(Number, Number, Number)>,
    },
    UsableSizes {
        path: Path,
        header: Number,
        steps: Vec<Number>,
        number: u8,
    },
    ProcessEnd {
        index: Number,
        epoch: Number,
        still_running: bool,
        lost: Number,
        verified: Number,
        failed: Number,
    },
    ThreadEnd {
        index: Number,
        name: String,
        epoch: Number,
        lost: Number,
    },
    Symbols(AnySymbols),
    RunEnd {
        duration: Number,
        code: Option<i32>,
        stopped: Option<String>,
        refused: u32,
        peak_rss: Number,
        spot: String,
    },
    Raw(RawSection),
}

/// A mapping that may lie anywhere, also within another one.
#[derive(Arbitrary, Clone, Debug)]
struct AnyMapping {
    start: Number,
    kind: u8,
    resident: Number,
    runs: Vec<(u16, u16, bool)>,
}

impl AnyMapping {
    fn mapped(&self) -> MappedPages {
        const KINDS: [MappingKind; 4] =
            [MappingKind::Anonymous, MappingKind::Break, MappingKind::Allocator, MappingKind::File];
        let start = self.start.0 % (1 << 40) << 12;
        let mut at = start;
        let runs: Vec<PageRun> = self
            .runs
            .iter()
            .map(|&(gap, pages, huge)| {
                let run = PageRun { start: at + u64::from(gap) * 4096, pages: pages.into(), huge };
                at = run.start + run.pages * 4096;
                run
            })
            .collect();
        let kind = KINDS[usize::from(self.kind) % KINDS.len()];
        MappedPages { start, end: at, kind, resident_pages: self.resident.0, runs }
    }
}

/// Paths that occur twice, and others.
#[derive(Arbitrary, Clone, Debug)]
enum Path {
    Program,
    Library,
    Any(String),
}

impl Path {
    fn text(&self) -> String {
        match self {
            Path::Program => "/usr/bin/program".to_owned(),
            Path::Library => "/usr/lib/libc.so.6".to_owned(),
            Path::Any(path) => path.clone(),
        }
    }
}

/// The events of one thread in one section.
#[derive(Arbitrary, Clone, Debug)]
struct AnyBlock {
    thread: Number,
    first: Number,
    events: Vec<AnyEvent>,
}

/// A node of a trie; small numbers make circles.
#[derive(Arbitrary, Clone, Debug)]
enum Node {
    Root { parent: Number, generation: Number, cut: bool },
    Frame { parent: Number, address: Number, exact: bool },
    Any { parent: Number, key: u64 },
}

/// Symbols whose indices lead anywhere.
#[derive(Arbitrary, Clone, Debug)]
pub struct AnySymbols {
    strings: Vec<String>,
    frames: Vec<AnyFrame>,
    images: Vec<AnyImage>,
}

/// A frame whose strings there need not be.
#[derive(Arbitrary, Clone, Debug)]
struct AnyFrame {
    function: Option<Number>,
    file: Option<Number>,
    line: Option<Number>,
    inlined: bool,
}

/// An object file, with addresses in any order whose frames there need not be.
#[derive(Arbitrary, Clone, Debug)]
struct AnyImage {
    path: Path,
    addresses: Vec<(Number, Number, Number)>,
}

impl AnySymbols {
    /// As the recording holds them.
    pub fn symbols(&self) -> Symbols {
        let short = |n: Option<Number>| n.map(Number::short);
        let frames = self.frames.iter().map(|frame| SymbolFrame {
            function: short(frame.function),
            file: short(frame.file),
            line: short(frame.line),
            inlined: frame.inlined,
        });
        let images = self.images.iter().map(|image| ImageSymbols {
            path: image.path.text(),
            build_id: String::new(),
            addresses: image.addresses.iter().map(|(a, from, to)| (a.0, from.short()..to.short())).collect(),
        });
        Symbols { strings: self.strings.clone(), frames: frames.collect(), images: images.collect() }
    }
}

/// An event that a ring can hold, of any kind: any words behind the number of the kind.
#[derive(Arbitrary, Clone, Debug)]
pub struct AnyEvent {
    kind: u8,
    /// What the first word has beside the number, in its lower part and in its upper one: mostly small numbers, so that many
    /// events have the same address.
    low: Number,
    high: u16,
    /// Both halves of each further word.
    further: [(Number, Number); MAX_WORDS - 1],
}

impl AnyEvent {
    /// The event; none where a part of it has no such value. Addresses are multiples of eight, as allocators hand them out.
    pub fn event(&self) -> Option<Event> {
        let number = Event::WORD_NUMBERS[usize::from(self.kind) % Event::WORD_NUMBERS.len()];
        let first = number | self.low.0 << 4 | u64::from(self.high) << 48;
        let further = self.further.map(|(low, high)| low.0 | high.0 << 32);
        let (event, _) = words::decode(&[&[first], &further[..]].concat())?;
        Some(match event {
            Event::Realloc { old, new, size, stack, touched, allocator } => {
                Event::Realloc { old, new: BlockAddress(new.0 & !7), size, stack, touched, allocator }
            }
            other => other,
        })
    }
}

/// The words of events, as they lie in a ring.
pub fn words_of(events: &[Event]) -> Vec<u64> {
    let encoded = events.iter().map(|&e| words::encode(e));
    encoded.flat_map(|w| w.words.into_iter().take(w.len)).collect()
}

impl Recording {
    /// The file, without [`Recording::damage`], and how many events were written on purpose.
    ///
    /// # Errors
    /// None: it is written to memory.
    pub fn write(&self) -> Result<(Vec<u8>, u64), Error> {
        let part = self.pieces.len() as u32 % 3;
        let meta = Meta { command: self.command.clone(), part, ..Meta::default() };
        let mut writer = Writer::new(Vec::new(), &meta)?;
        let mut encoder = EventsEncoder::default();
        let mut n_events = 0;
        for piece in &self.pieces {
            if let Piece::Raw(raw) = piece {
                let mut file = writer.into_inner();
                raw.write(&mut file);
                writer = Writer::append(file);
            } else {
                n_events += piece.write(&mut writer, &mut encoder)?;
            }
        }
        Ok((writer.into_inner(), n_events))
    }

    /// Whether every section is one that the writer wrote.
    pub fn is_proper(&self) -> bool {
        self.damage.is_empty() && !self.pieces.iter().any(|p| matches!(p, Piece::Raw(_)))
    }
}

impl Piece {
    fn write(&self, writer: &mut Writer<Vec<u8>>, encoder: &mut EventsEncoder) -> Result<u64, Error> {
        let process_index = |n: &Number| ProcessIndex(n.short());
        let thread_index = |n: &Number| ThreadIndex(n.short());
        let epoch_of = |n: &Number| Epoch(n.0);
        let mut n_events = 0;
        match self {
            Piece::Process { index, forked_from, start, pid, command } => writer.process(&ProcessInfo {
                index: process_index(index),
                pid: *pid,
                forked_from: forked_from.as_ref().map(process_index),
                command: command.clone(),
                start_epoch: epoch_of(start),
                ..ProcessInfo::default()
            })?,
            Piece::Thread { index, process, handle, name } => writer.thread(&ThreadInfo {
                index: thread_index(index),
                process: process_index(process),
                handle: handle.0,
                name: name.clone(),
                ..ThreadInfo::default()
            })?,
            Piece::Module { process, generation, start, len, bias, path } => writer.module(&ModuleInfo {
                process: process_index(process),
                generation: generation.short(),
                start: start.0,
                end: start.0.wrapping_add(len.0),
                bias: bias.0,
                build_id: String::new(),
                path: path.text(),
            })?,
            Piece::Events { watermark, blocks } => {
                for block in blocks {
                    let events: Vec<Event> = block.events.iter().filter_map(AnyEvent::event).collect();
                    let first = epoch_of(&block.first);
                    n_events += encoder.add_block(thread_index(&block.thread), first, &words_of(&events)).1;
                }
                writer.events(&encoder.finish(epoch_of(watermark)))?;
            }
            Piece::Nodes { process, first, nodes } => writer.nodes(&Nodes {
                process: process_index(process),
                first_id: first.short(),
                nodes: nodes.iter().map(Node::record).collect(),
            })?,
            Piece::Clock(readings) => {
                writer.clock(&ClockReadings(readings.iter().map(|(e, t)| (epoch_of(e), t.0)).collect()))?;
            }
            Piece::Samples(samples) => {
                let samples = samples.iter().map(|(process, time, rss)| Sample {
                    process: process_index(process),
                    time_ns: time.0,
                    rss_bytes: rss.0,
                });
                writer.samples(&Samples(samples.collect()))?;
            }
            Piece::Snapshot { process, epoch, reason, rss, mappings } => {
                let reason = [Reason::Grown, Reason::Requested, Reason::Latest][usize::from(reason % 3)];
                writer.snapshot(&Snapshot {
                    process: process_index(process),
                    epoch: epoch_of(epoch),
                    time_ns: rss.0,
                    reason,
                    page_bytes: 4096,
                    rss_bytes: rss.0,
                    lazily_freed_bytes: rss.0 / 2,
                    mappings: mappings.iter().map(AnyMapping::mapped).collect(),
                })?;
            }
            Piece::MarkNames { process, first, names } => writer.mark_names(&MarkNames {
                process: process_index(process),
                first_id: first.short(),
                names: names.clone(),
            })?,
            Piece::Carried { process, thread, stack, allocator, blocks } => {
                let block = |(address, size, age): &(Number, Number, Number)| CarriedBlock {
                    thread: ThreadIndex(thread.short()),
                    stack: StackId(stack.short()),
                    allocator: AllocatorNumber(*allocator),
                    address: BlockAddress(address.0),
                    size: size.0,
                    age_ns: age.0,
                };
                let process = process_index(process);
                writer.carried(&Carried { process, blocks: blocks.iter().map(block).collect() })?;
            }
            Piece::UsableSizes { path, header, steps, number } => {
                let sizes = steps.iter().scan(0u64, |sum, step| {
                    *sum = sum.checked_add(step.0.max(1))?;
                    Some(*sum)
                });
                writer.usable_sizes(&UsableSizes {
                    allocator: path.text(),
                    number: AllocatorNumber(number & AllocatorNumber::OTHERS.0),
                    header_bytes: header.0,
                    sizes: sizes.collect(),
                })?;
            }
            Piece::ProcessEnd { index, epoch, still_running, lost, verified, failed } => {
                writer.process_end(&ProcessEnd {
                    index: process_index(index),
                    epoch: epoch_of(epoch),
                    still_running: *still_running,
                    lost_events: lost.0,
                    verified: verified.0,
                    verify_failed: failed.0,
                    no_clock: *still_running,
                })?;
            }
            Piece::ThreadEnd { index, name, epoch, lost } => writer.thread_end(&ThreadEnd {
                index: thread_index(index),
                name: name.clone(),
                epoch: epoch_of(epoch),
                lost_events: lost.0,
            })?,
            Piece::Symbols(symbols) => writer.symbols(&symbols.symbols())?,
            Piece::RunEnd { duration, code, stopped, refused, peak_rss, spot } => {
                writer.run_end(&RunEnd {
                    goes_on: refused % 3 == 1,
                    exit_code: *code,
                    signal: None,
                    duration_ns: duration.0,
                    stopped_early: stopped.clone(),
                    blind_spots: vec![BlindSpot { what: spot.clone(), ..BlindSpot::default() }],
                    refused_processes: *refused,
                    peak_rss_bytes: peak_rss.0,
                    shared_pages_count_once: refused.is_multiple_of(2),
                    ticks_per_second: peak_rss.0,
                    ticks_overhead: duration.0,
                    cpu_ns: 0,
                    system_ns: duration.0,
                    refusals: vec![Refusal {
                        what: spot.clone(),
                        why: stopped.clone().unwrap_or_default(),
                        count: peak_rss.0,
                    }],
                    allocators_inside: vec![AllocatorInside {
                        allocator: spot.clone(),
                        file: stopped.clone().unwrap_or_default(),
                        functions: duration.0,
                        number: 1,
                    }],
                })?
            }
            // Written by the caller, who has the file.
            Piece::Raw(_) => {}
        }
        Ok(n_events)
    }
}

impl Node {
    fn record(&self) -> (u32, u64) {
        match self {
            Node::Root { parent, generation, cut } => (parent.short(), root_key(generation.short(), *cut)),
            Node::Frame { parent, address, exact } => {
                (parent.short(), (address.0 & ((1 << 48) - 1)) | if *exact { EXACT_PC } else { 0 })
            }
            Node::Any { parent, key } => (parent.short(), *key),
        }
    }
}
