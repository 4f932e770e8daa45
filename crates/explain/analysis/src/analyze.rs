//! Goes through a recording once, in bounded memory.

use crate::analysis::Analysis;
use crate::arriving::{self, Arrived};
use crate::budget::{Budget, price};
use crate::error::Error;
use crate::heap::Sampling;
use crate::marks::Names;
use crate::observer::Observer;
use crate::order::Sequencer;
use crate::stacks::modules::{Images, Modules};
use crate::stacks::raw::RawTrie;
use crate::timeline::Timeline;
use crate::unnamed::Unnamed;
use crate::warning::Warning;
use heapwise_trace::file::columns::EventsSection;
use heapwise_trace::file::reader::{Reader, Section, Tail};
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{Sample, Symbols};
use heapwise_trace::file::{Error as FileError, ErrorKind as FileErrorKind};
use rustc_hash::FxHashMap;
use std::io::Read;

/// What may be chosen about an analysis.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Do not use the symbols that the recording brings along.
    pub ignore_symbols: bool,
    /// Bytes of memory that may be taken, as far as the machine bounds it. Whatever it says, a recording takes no more than one of
    /// its size needs.
    pub memory: Option<u64>,
}

/// Does as [`analyze`](crate::analyze) does, and lets an observer see the events in their order.
///
/// # Errors
/// As there.
pub fn observe<R: Read + Send>(
    reader: Reader<R>,
    options: &Options,
    observer: &mut impl Observer,
    progress: impl FnMut(u64),
) -> Result<Analysis, Error> {
    let mut run = Run::<Option<_>>::new(Budget::new(options.memory));
    run.sequencer.observer = Some(observer);
    Ok(run.read(reader, options, progress)?.named([]))
}

#[derive(Debug, Default)]
pub(crate) struct ProcessState {
    pub(crate) info: ProcessInfo,
    pub(crate) end: Option<ProcessEnd>,
    pub(crate) raw: RawTrie,
    pub(crate) modules: Modules,
    pub(crate) module_infos: Vec<ModuleInfo>,
    /// Its last sample: the moment, and resident bytes.
    pub(crate) rss: (u64, u64),
    pub(crate) mark_names: Names,
}

#[derive(Debug, Default)]
pub(crate) struct ThreadState {
    pub(crate) info: ThreadInfo,
    pub(crate) end: Option<ThreadEnd>,
    pub(crate) damaged: bool,
    pub(crate) has_record: bool,
}

/// Everything that is known so far.
#[derive(Debug, Default)]
pub(crate) struct Run<O = ()> {
    pub(crate) meta: Meta,
    pub(crate) end: Option<RunEnd>,
    pub(crate) sequencer: Sequencer<O>,
    /// Same index as in the ledger.
    pub(crate) processes: Vec<ProcessState>,
    pub(crate) threads: Vec<ThreadState>,
    pub(crate) process_slots: FxHashMap<ProcessIndex, u32>,
    pub(crate) thread_slots: FxHashMap<ThreadIndex, u32>,
    pub(crate) images: Images,
    pub(crate) symbols: Vec<Symbols>,
    pub(crate) rss: Timeline,
    pub(crate) rss_now: u64,
    /// When the processes in it were measured last.
    pub(crate) sampled_ns: u64,
    pub(crate) peak_rss: u64,
    /// Events are held back for one section: records that belong to them may follow them.
    pub(crate) held: Option<(u64, EventsSection)>,
    /// Where the section at hand begins in the file.
    at: u64,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) skipped: u64,
    pub(crate) first_skipped: String,
    budget: Budget,
    /// Whether blocks of processes that go on are not ended, but taken out.
    pub(crate) takes_live: bool,
    /// Whether it was reported that the budget is exceeded.
    is_reported: bool,
}

impl<O: Observer + Default> Run<O> {
    pub(crate) fn new(budget: Budget) -> Self {
        let mut run = Self { budget: budget.clone(), ..Self::default() };
        run.sequencer.ledger.marks.budget = budget.clone();
        run.sequencer.ledger.budget = budget;
        run
    }
}

impl<O: Observer> Run<O> {
    pub(crate) fn read<R: Read + Send>(
        mut self,
        mut reader: Reader<R>,
        options: &Options,
        progress: impl FnMut(u64),
    ) -> Result<Unnamed, Error> {
        self.go_through(&mut reader, progress)?;
        let damaged = |claim| Warning::Damaged { offset: reader.offset(), claim };
        // If it was not gone through up to there, its end does not matter.
        match reader.tail().filter(|_| !self.is_reported) {
            Some(Tail::Truncated) => self.warnings.push(Warning::Truncated),
            Some(Tail::Damaged) => self.warnings.push(damaged(None)),
            Some(Tail::Excessive(claim)) => self.warnings.push(damaged(Some(claim))),
            Some(Tail::Clean) | None => {}
        }
        Ok(self.finish(options))
    }

    /// All sections of a recording, or those before its tail.
    pub(crate) fn go_through<R: Read + Send>(
        &mut self,
        reader: &mut Reader<R>,
        mut progress: impl FnMut(u64),
    ) -> Result<(), Error> {
        arriving::each(reader, |arrived| {
            let end = arrived.end;
            let goes_on = self.take(arrived)?;
            if goes_on {
                progress(end);
            }
            Ok(goes_on)
        })
    }

    /// Goes on by a section. `false` at the end of the stream, and where the rest cannot be read or claims too much.
    pub(crate) fn next<R: Read>(&mut self, reader: &mut Reader<R>) -> Result<bool, Error> {
        self.take(Arrived::next(reader))
    }

    pub(crate) fn take(&mut self, arrived: Arrived) -> Result<bool, Error> {
        self.at = arrived.at;
        match arrived.section {
            Ok(Some(section)) => {
                self.budget.grant(arrived.end);
                self.section(section);
            }
            Ok(None) => return Ok(false),
            Err(error) => self.skip(error)?,
        }
        Ok(!self.is_exceeded(self.at))
    }

    fn section(&mut self, section: Section) {
        match section {
            Section::Meta(meta) => {
                self.sequencer.ledger.sampling = Sampling::new(meta.sample_bytes);
                self.meta = meta;
            }
            Section::Process(info) => {
                let slot = self.process_slot(info.index);
                let words = info.command.iter().map(|word| word.len() as u64 + price::ELEMENT).sum::<u64>();
                if !self.budget.keep(words + info.environment_findings.len() as u64 * price::MODULE) {
                    return;
                }
                self.sequencer.residency.describe(slot, &info);
                let parent = info.forked_from.and_then(|parent| self.process_slots.get(&parent).copied());
                self.sequencer.ledger.processes[slot as usize].forked_from = parent;
                self.processes[slot as usize].info = info;
            }
            Section::Thread(info) => {
                let process = self.process_slot(info.process);
                let slot = self.thread_slot(info.index, process, info.handle);
                let thread = &mut self.threads[slot as usize];
                thread.info = info;
                thread.has_record = true;
                if self.meta.part > 1 && self.held.is_none() && self.sequencer.n_events == 0 {
                    // An earlier file has its first events, and its creation.
                    self.sequencer.goes_on(slot);
                }
            }
            Section::Module(info) => {
                let slot = self.process_slot(info.process) as usize;
                if !self.budget.keep(price::MODULE + 3 * (info.path.len() + info.build_id.len()) as u64) {
                    return;
                }
                self.processes[slot].modules.add(&info, &mut self.images);
                self.processes[slot].module_infos.push(info);
            }
            Section::Events(events) => {
                self.sequence_held();
                self.held = Some((self.at, events));
                if self.held.as_ref().is_some_and(|(_, events)| events.n_blocks() == 0) {
                    // It completes what is there, and what belongs to that is in front of it.
                    self.sequence_held();
                }
            }
            Section::Nodes(nodes) => {
                let slot = self.process_slot(nodes.process);
                self.processes[slot as usize].raw.add(&nodes, &self.budget);
            }
            Section::Clock(readings) => self.sequencer.clock.add(&readings),
            Section::Samples(samples) => samples.0.iter().for_each(|s| self.sample(s)),
            Section::ProcessEnd(end) => {
                let slot = self.process_slot(end.index);
                if !(self.takes_live && end.still_running) {
                    self.sequencer.end_process(slot, end.epoch.0);
                }
                self.sequencer.observer.process_ended(slot as usize, end.epoch);
                self.all_are_sampled();
                let process = &mut self.processes[slot as usize];
                if process.rss.0 == self.sampled_ns {
                    self.rss_now = self.rss_now.saturating_sub(process.rss.1);
                }
                process.rss.1 = 0;
                process.end = Some(end);
            }
            Section::ThreadEnd(end) => {
                if let Some(&slot) = self.thread_slots.get(&end.index) {
                    self.sequencer.observer.thread_ended(slot as usize, end.epoch);
                    self.threads[slot as usize].end = Some(end);
                }
            }
            Section::Snapshot(snapshot) => {
                let slot = self.process_slot(snapshot.process);
                let runs = snapshot.mappings.iter().map(|mapping| 1 + mapping.runs.len() as u64).sum::<u64>();
                if !self.budget.keep(runs * price::ELEMENT) {
                    return;
                }
                self.sequencer.look_at(slot, snapshot);
            }
            Section::MarkNames(names) => {
                let slot = self.process_slot(names.process);
                self.processes[slot as usize].mark_names.add(names, &self.budget);
            }
            Section::UsableSizes(sizes) => {
                let cost = (sizes.sizes.len() * size_of::<u64>()) as u64 + price::MODULE;
                if !self.budget.keep(cost) {
                    return;
                }
                self.sequencer.residency.add_sizes(sizes);
            }
            Section::Symbols(symbols) => {
                if !self.budget.keep(cost_of(&symbols)) {
                    return;
                }
                self.symbols.push(symbols);
            }
            Section::Carried(carried) => {
                let process = self.process_slot(carried.process);
                for block in &carried.blocks {
                    let thread = self.thread_slot(block.thread, process, 0);
                    self.sequencer.ledger.carry(thread, block);
                }
            }
            Section::RunEnd(end) => self.end = Some(end),
            // Written by a newer heapwise of the same major version, which promises that it may be skipped.
            _ => {}
        }
    }

    fn skip(&mut self, error: FileError) -> Result<(), Error> {
        match error.kind() {
            FileErrorKind::Damaged { what, .. } => {
                if self.skipped == 0 {
                    self.first_skipped = (*what).to_owned();
                }
                self.skipped += 1;
                Ok(())
            }
            _ => Err(error.into()),
        }
    }

    fn process_slot(&mut self, index: ProcessIndex) -> u32 {
        if let Some(&slot) = self.process_slots.get(&index) {
            return slot;
        }
        if !self.budget.keep(price::PROCESS) && !self.processes.is_empty() {
            // Reading ends behind this section. Until then any process has to do.
            return 0;
        }
        let slot = self.sequencer.ledger.add_process();
        let info = ProcessInfo { index, ..ProcessInfo::default() };
        self.processes.push(ProcessState { info, ..ProcessState::default() });
        self.process_slots.insert(index, slot);
        slot
    }

    fn thread_slot(&mut self, index: ThreadIndex, process: u32, handle: u64) -> u32 {
        if let Some(&slot) = self.thread_slots.get(&index) {
            return slot;
        }
        if !self.budget.keep(price::THREAD) && !self.threads.is_empty() {
            return 0;
        }
        let slot = self.sequencer.add_thread(process, handle);
        let info = ThreadInfo { index, ..ThreadInfo::default() };
        self.threads.push(ThreadState { info, ..ThreadState::default() });
        self.thread_slots.insert(index, slot);
        slot
    }

    pub(crate) fn sequence_held(&mut self) {
        let Some((at, events)) = self.held.take() else { return };
        // Slots for all threads first, also for those whose record is missing: they get a separate process.
        let slots: Vec<(ThreadIndex, u32)> = events
            .blocks()
            .map(|block| {
                let index = block.thread();
                let slot = self.thread_slots.get(&index).copied().unwrap_or_else(|| {
                    let process = self.process_slot(ProcessIndex(u32::MAX));
                    self.thread_slot(index, process, 0)
                });
                (index, slot)
            })
            .collect();
        let slots: FxHashMap<_, _> = slots.into_iter().collect();
        for thread in self.sequencer.section(&events, |index| slots.get(&index).copied().unwrap_or(0)) {
            self.threads[thread as usize].damaged = true;
        }
        self.is_exceeded(at);
    }

    /// Whether more was claimed than there may be. Reports it once, with the place in the file that did it first.
    fn is_exceeded(&mut self, offset: u64) -> bool {
        let Some(claim) = self.budget.exceeded() else { return false };
        if !self.is_reported {
            self.is_reported = true;
            self.warnings.push(Warning::Damaged { offset, claim: Some(claim) });
        }
        true
    }

    fn sample(&mut self, sample: &Sample) {
        // A process is known before it is measured. A damaged recording may measure any number of others.
        let Some(&slot) = self.process_slots.get(&sample.process) else { return };
        let slot = slot as usize;
        if sample.time_ns != self.sampled_ns {
            self.all_are_sampled();
            self.rss.advance(sample.time_ns, self.rss_now);
            self.sampled_ns = sample.time_ns;
            // All that are there are sampled anew. Some of the last moment have ended, but their records may come later.
            self.rss_now = 0;
        }
        let last = std::mem::replace(&mut self.processes[slot].rss, (sample.time_ns, sample.rss_bytes));
        let twice = if last.0 == sample.time_ns { last.1 } else { 0 };
        self.rss_now = self.rss_now.saturating_sub(twice).saturating_add(sample.rss_bytes);
        self.sequencer.ledger.marks.rss.add(sample.time_ns, self.rss_now);
    }

    /// All processes have been measured at one moment. Before that, the sum has pages twice that one of them has given to
    /// another.
    pub(crate) fn all_are_sampled(&mut self) {
        self.rss.raise(self.rss_now);
        self.peak_rss = self.peak_rss.max(self.rss_now);
    }
}

/// What symbols take here and once more as names.
fn cost_of(symbols: &Symbols) -> u64 {
    let strings: u64 = symbols.strings.iter().map(|text| text.len() as u64 + price::ELEMENT).sum();
    let addresses: u64 =
        symbols.images.iter().map(|image| (image.addresses.len() as u64 + 4) * price::ELEMENT).sum();
    strings * 3 + addresses + symbols.frames.len() as u64 * price::ELEMENT
}
