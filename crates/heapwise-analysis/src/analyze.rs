//! Goes through a recording once, in bounded memory.

use crate::analysis::Analysis;
use crate::error::Error;
use crate::heap::Sampling;
use crate::marks::Names;
use crate::observer::Observer;
use crate::order::Sequencer;
use crate::stacks::modules::{Images, Modules};
use crate::stacks::raw::RawTrie;
use crate::timeline::Timeline;
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
}

/// Reads a whole recording and makes the tables. `progress` is told the bytes that were read, after each section.
///
/// # Errors
/// Only if the stream cannot be read. Whatever is wrong with the recording itself is in [`Analysis::warnings`].
pub fn analyze<R: Read>(
    reader: Reader<R>,
    options: &Options,
    progress: impl FnMut(u64),
) -> Result<Analysis, Error> {
    Run::<()>::default().read(reader, options, progress)
}

/// Does the same, and lets an observer see the events in their order.
///
/// # Errors
/// As for [`analyze`].
pub fn observe<R: Read>(
    reader: Reader<R>,
    options: &Options,
    observer: &mut impl Observer,
    progress: impl FnMut(u64),
) -> Result<Analysis, Error> {
    let mut run = Run::<Option<_>>::default();
    run.sequencer.observer = Some(observer);
    run.read(reader, options, progress)
}

#[derive(Debug, Default)]
pub(crate) struct ProcessState {
    pub(crate) info: ProcessInfo,
    pub(crate) end: Option<ProcessEnd>,
    pub(crate) raw: RawTrie,
    pub(crate) modules: Modules,
    pub(crate) module_infos: Vec<ModuleInfo>,
    pub(crate) rss: u64,
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
    pub(crate) peak_rss: u64,
    /// Events are held back for one section: records that belong to them may follow them.
    pub(crate) held: Option<EventsSection>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) skipped: u64,
    pub(crate) first_skipped: String,
}

impl<O: Observer> Run<O> {
    fn read<R: Read>(
        mut self,
        mut reader: Reader<R>,
        options: &Options,
        mut progress: impl FnMut(u64),
    ) -> Result<Analysis, Error> {
        loop {
            match reader.next_section() {
                Ok(Some(section)) => self.section(section),
                Ok(None) => break,
                Err(error) => self.skip(error)?,
            }
            progress(reader.offset());
        }
        match reader.tail() {
            Some(Tail::Truncated) => self.warnings.push(Warning::Truncated),
            Some(Tail::Damaged) => self.warnings.push(Warning::Damaged { offset: reader.offset() }),
            Some(Tail::Clean) | None => {}
        }
        Ok(self.finish(options))
    }

    fn section(&mut self, section: Section) {
        match section {
            Section::Meta(meta) => {
                self.sequencer.ledger.sampling = Sampling::new(meta.sample_bytes);
                self.meta = meta;
            }
            Section::Process(info) => {
                let slot = self.process_slot(info.index);
                self.sequencer.residency.describe(slot, &info.allocator, info.forked_from.is_some());
                self.processes[slot as usize].info = info;
            }
            Section::Thread(info) => {
                let process = self.process_slot(info.process);
                let slot = self.thread_slot(info.index, process, info.handle);
                let thread = &mut self.threads[slot as usize];
                thread.info = info;
                thread.has_record = true;
            }
            Section::Module(info) => {
                let slot = self.process_slot(info.process) as usize;
                self.processes[slot].modules.add(&info, &mut self.images);
                self.processes[slot].module_infos.push(info);
            }
            Section::Events(events) => {
                self.sequence_held();
                self.held = Some(events);
            }
            Section::Nodes(nodes) => {
                let slot = self.process_slot(nodes.process);
                self.processes[slot as usize].raw.add(&nodes);
            }
            Section::Clock(readings) => self.sequencer.clock.add(&readings),
            Section::Samples(samples) => samples.0.iter().for_each(|s| self.sample(s)),
            Section::ProcessEnd(end) => {
                let slot = self.process_slot(end.index);
                self.sequencer.end_process(slot, end.epoch.0);
                self.sequencer.observer.process_ended(slot as usize, end.epoch);
                let process = &mut self.processes[slot as usize];
                self.rss_now = self.rss_now.saturating_sub(process.rss);
                process.rss = 0;
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
                self.sequencer.look_at(slot, snapshot);
            }
            Section::MarkNames(names) => {
                let slot = self.process_slot(names.process);
                self.processes[slot as usize].mark_names.add(names);
            }
            Section::UsableSizes(sizes) => self.sequencer.residency.add_sizes(sizes),
            Section::Symbols(symbols) => self.symbols.push(symbols),
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
        let slot = self.sequencer.add_thread(process, handle);
        let info = ThreadInfo { index, ..ThreadInfo::default() };
        self.threads.push(ThreadState { info, ..ThreadState::default() });
        self.thread_slots.insert(index, slot);
        slot
    }

    pub(crate) fn sequence_held(&mut self) {
        let Some(events) = self.held.take() else { return };
        // Slots for all threads first, also for those whose record is missing: they get a process of their own.
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
    }

    fn sample(&mut self, sample: &Sample) {
        let slot = self.process_slot(sample.process) as usize;
        self.rss.advance(sample.time_ns, self.rss_now);
        self.rss_now = self.rss_now.saturating_sub(self.processes[slot].rss).saturating_add(sample.rss_bytes);
        self.processes[slot].rss = sample.rss_bytes;
        self.rss.raise(self.rss_now);
        self.sequencer.ledger.marks.rss.add(sample.time_ns, self.rss_now);
        self.peak_rss = self.peak_rss.max(self.rss_now);
    }
}
