//! The thread that packs what was drained and writes the file.

use crate::buffers::Buffers;
use crate::news::News;
use crate::output::SectionFile;
use crate::refusals::{Refusals, Refused};
use crate::rotation::{self, Cut, Files, NODES_AT_ONCE};
use heapwise_trace::event::Epoch;
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::pages::{Snapshot, UsableSizes};
use heapwise_trace::file::records::{Meta, ProcessEnd, ProcessInfo, RunEnd, ThreadIndex};
use heapwise_trace::file::tables::{ClockReadings, Nodes, Samples};
use heapwise_trace::file::{Error, Writer};
use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// What was collected since the batch before.
#[derive(Debug, Default)]
pub struct Batch {
    /// Every event published before this epoch is in this batch or an earlier one.
    pub watermark: Epoch,
    /// Processes that joined.
    pub processes: Vec<ProcessInfo>,
    /// Threads, modules, nodes and names of marks that are new, and threads that ended.
    pub news: News,
    /// Words of each thread.
    pub blocks: Vec<(ThreadIndex, Vec<u64>)>,
    pub clock: ClockReadings,
    /// Memory samples.
    pub samples: Samples,
    /// How large the blocks of allocators are.
    pub sizes: Vec<UsableSizes>,
    /// Snapshots of pages.
    pub snapshots: Vec<Snapshot>,
    /// Processes that ended.
    pub ends: Vec<ProcessEnd>,
    /// The file ends with what was published before the watermark, and the next one begins.
    pub cut: Option<Box<Cut>>,
}

/// Batches that wait for the packer: with those being filled and packed, the bound on the collector's memory.
const QUEUE: usize = 4;
/// A section of events is ended here, well below what a reader accepts.
const MOST_SECTION_BYTES: usize = 24 << 20;

/// The packer as the collector's loop sees it.
#[derive(Debug)]
pub struct Packer {
    /// Where batches go; full when the packer cannot follow, closed when it failed.
    pub batches: SyncSender<Batch>,
    /// Emptied buffers, to be filled again.
    pub buffers: Arc<Buffers>,
    /// Size of the file so far.
    pub written: Arc<AtomicU64>,
    thread: JoinHandle<Work>,
}

/// What the packer leaves.
#[derive(Debug)]
pub struct Packed {
    /// The file, open at its end, holding whole sections only.
    pub file: File,
    /// Events written.
    pub events: u64,
    /// Why it ended before all was written.
    pub error: Option<Error>,
    /// Where the file is, if it is the last one of several.
    pub path: Option<PathBuf>,
}

impl Packer {
    /// Begins a recording in `file`, the first of several if there are to be more. The packer's thread calls `prepare` first.
    ///
    /// # Errors
    /// The file's.
    pub fn start(file: File, meta: &Meta, files: Option<Files>, prepare: fn()) -> Result<Self, Error> {
        let mut writer = Writer::new(SectionFile::new(file), meta)?;
        writer.flush()?;
        let (batches, queue) = sync_channel(QUEUE);
        let buffers = Arc::new(Buffers::default());
        let written = Arc::new(AtomicU64::new(writer.written()));
        let work = Work {
            writer,
            files,
            encoder: EventsEncoder::default(),
            epochs: HashMap::new(),
            events: 0,
            written: Arc::clone(&written),
            watermark: Epoch(0),
            newest: None,
            whole: written.load(Ordering::Relaxed),
            error: None,
            buffers: Arc::clone(&buffers),
            refusals: Refusals::default(),
        };
        let spawn = std::thread::Builder::new().name("packer".into()).spawn(move || {
            prepare();
            work.run(&queue)
        });
        Ok(Self { batches, buffers, written, thread: spawn? })
    }

    /// Waits until everything that was sent is in the file, and ends the recording.
    pub fn finish(self, end: &RunEnd) -> Packed {
        drop(self.batches);
        let work = match self.thread.join() {
            Ok(work) => work,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        work.finish(end)
    }
}

#[derive(Debug)]
struct Work {
    writer: Writer<SectionFile>,
    files: Option<Files>,
    encoder: EventsEncoder,
    /// The epoch after each thread's last event.
    epochs: HashMap<ThreadIndex, Epoch>,
    events: u64,
    written: Arc<AtomicU64>,
    /// The watermark of the batch before.
    watermark: Epoch,
    /// The newest epoch of events that a reader may still hold back: those that no watermark in the file is beyond.
    newest: Option<Epoch>,
    /// Bytes of the file that are whole sections.
    whole: u64,
    error: Option<Error>,
    buffers: Arc<Buffers>,
    refusals: Refusals,
}

impl Work {
    fn run(mut self, queue: &Receiver<Batch>) -> Self {
        for batch in queue {
            let result = self.pack(batch);
            if !self.took(result) {
                // Leaving the queue closes it, which is the signal for the collector's loop to stop.
                break;
            }
        }
        self
    }

    /// Notes the outcome of writing. Returns whether all is well.
    fn took(&mut self, result: Result<(), Error>) -> bool {
        match result {
            Ok(()) => {
                self.whole = self.writer.written();
                self.written.store(self.whole, Ordering::Relaxed);
            }
            Err(error) => self.error = Some(error),
        }
        self.error.is_none()
    }

    fn finish(mut self, end: &RunEnd) -> Packed {
        if self.error.is_none() {
            let mut end = end.clone();
            end.duration_ns = end.duration_ns.saturating_sub(self.began_ns());
            end.refusals.extend(std::mem::take(&mut self.refusals).into_records());
            let result = self.writer.run_end(&end).and_then(|()| self.writer.flush());
            self.took(result);
        }
        let mut error = self.error;
        let path = self.files.as_ref().map(|files| files.path().to_owned());
        let file = match self.writer.into_inner().cut(self.whole) {
            Ok(file) => file,
            Err(e) => stand_in(e, &mut error),
        };
        Packed { file, events: self.events, error, path }
    }

    /// When the file at hand began.
    fn began_ns(&self) -> u64 {
        self.files.as_ref().map_or(0, Files::began_ns)
    }

    /// Writes a batch, and begins the next file where it says so.
    fn pack(&mut self, mut batch: Batch) -> Result<(), Error> {
        let (Some(cut), Some(&at)) = (batch.cut.take(), batch.clock.0.last()) else {
            return self.write(batch);
        };
        let later = rotation::split(&mut batch.blocks, batch.watermark, &self.buffers);
        self.write(batch)?;
        self.begin_next(*cut, at)?;
        self.write(Batch { watermark: at.0, blocks: later, ..Batch::default() })
    }

    /// Ends the file at hand, which is complete up to a reading of the clock, and begins the next one.
    fn begin_next(&mut self, Cut { mut end, processes }: Cut, at: (Epoch, u64)) -> Result<(), Error> {
        let Some(files) = &mut self.files else { return Ok(()) };
        end.duration_ns = at.1.saturating_sub(files.began_ns());
        end.goes_on = true;
        end.refusals.extend(std::mem::take(&mut self.refusals).into_records());
        processes.iter().try_for_each(|process| self.writer.process_end(process))?;
        self.writer.run_end(&end)?;
        self.writer.flush()?;
        // Whatever becomes of the next one, this one is whole.
        self.whole = self.writer.written();
        self.writer = files.next(&self.writer.get_ref().handle()?, at)?;
        self.newest = None;
        Ok(())
    }

    fn write(&mut self, mut batch: Batch) -> Result<(), Error> {
        let began_ns = self.began_ns();
        batch.clock.0.iter_mut().for_each(|(_, time_ns)| *time_ns = time_ns.saturating_sub(began_ns));
        batch.samples.0.iter_mut().for_each(|s| s.time_ns = s.time_ns.saturating_sub(began_ns));
        batch.snapshots.iter_mut().for_each(|s| s.time_ns = s.time_ns.saturating_sub(began_ns));
        let w = &mut self.writer;
        batch.processes.iter().try_for_each(|p| w.process(p))?;
        for thread in &batch.news.threads {
            self.epochs.insert(thread.index, thread.start_epoch);
            w.thread(thread)?;
        }
        batch.news.modules.iter().try_for_each(|m| w.module(m))?;
        for nodes in &batch.news.nodes {
            for (i, chunk) in nodes.nodes.chunks(NODES_AT_ONCE).enumerate() {
                let first_id = nodes.first_id + (i * NODES_AT_ONCE) as u32;
                w.nodes(&Nodes { process: nodes.process, first_id, nodes: chunk.to_vec() })?;
            }
        }
        batch.news.mark_names.iter().try_for_each(|names| w.mark_names(names))?;
        batch.sizes.iter().try_for_each(|s| w.usable_sizes(s))?;
        // In front of the events: a reader has to know of a snapshot when it comes to its epoch.
        batch.snapshots.iter().try_for_each(|s| w.snapshot(s))?;
        for (thread, mut words) in batch.blocks {
            let first = self.epochs.get(&thread).copied().unwrap_or_default();
            let (last, events) = self.encoder.add_block(thread, first, &words);
            self.epochs.insert(thread, last);
            self.newest = self.newest.max(Some(last));
            self.events += events;
            if self.encoder.left_over() > 0 {
                self.refusals.note(Refused::Events, || {
                    format!("words of thread {} of the recording are none", thread.0)
                });
            }
            words.clear();
            self.buffers.recycle(words);
            if self.encoder.len() > MOST_SECTION_BYTES {
                // What follows may be as old as this, so nothing newer than before can be promised.
                let payload = self.encoder.finish(self.watermark);
                w.events(&payload)?;
            }
        }
        self.watermark = batch.watermark;
        let has_events = !self.encoder.is_empty();
        if has_events {
            let payload = self.encoder.finish(batch.watermark);
            w.events(&payload)?;
        }
        if !batch.clock.0.is_empty() {
            w.clock(&batch.clock)?;
        }
        if !batch.samples.0.is_empty() {
            w.samples(&batch.samples)?;
        }
        batch.news.thread_ends.iter().try_for_each(|t| w.thread_end(t))?;
        batch.ends.iter().try_for_each(|p| w.process_end(p))?;
        if !has_events && self.newest.is_some_and(|newest| newest < batch.watermark) {
            // Who reads along does not have to wait for the next event to know that all before it are there.
            self.newest = None;
            w.events(&self.encoder.finish(batch.watermark))?;
        }
        w.flush()
    }
}

/// A stand-in for a file that cannot even be truncated: all later writes to it fail with an error.
fn stand_in(cause: std::io::Error, error: &mut Option<Error>) -> File {
    error.get_or_insert(cause.into());
    File::open("/dev/null").expect("every system has /dev/null")
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::event::{BlockAddress, Event};
    use heapwise_trace::file::{Reader, Section};
    use heapwise_trace::live::words;
    use std::io::Seek;

    fn freed_in(epoch: u64) -> (ThreadIndex, Vec<u64>) {
        let free = Event::Free { address: BlockAddress(16), touched: Default::default() };
        let encoded = [Event::Epoch(Epoch(epoch)), free].map(words::encode);
        (ThreadIndex(0), encoded.iter().flat_map(|words| words.words[..words.len].to_vec()).collect())
    }

    #[test]
    fn events_are_completed_once_by_an_empty_section_when_nothing_follows() {
        let file = tempfile::tempfile().expect("a file");
        let mut written = file.try_clone().expect("a handle");
        let packer = Packer::start(file, &Meta::default(), None, || {}).expect("it starts");
        // The fourth batch promises nothing new, as one of which something is held back.
        let batches = [(3, Some(3)), (4, None), (5, None), (5, Some(7)), (7, None), (8, None), (9, None)];
        for (watermark, events) in batches {
            let blocks = events.map(freed_in).into_iter().collect();
            let batch = Batch { watermark: Epoch(watermark), blocks, ..Batch::default() };
            packer.batches.send(batch).expect("it is taken");
        }
        assert!(packer.finish(&RunEnd::default()).error.is_none());
        written.rewind().expect("a file");
        let mut reader = Reader::new(written).expect("a recording");
        let mut sections = Vec::new();
        while let Some(section) = reader.next_section().expect("it is whole") {
            if let Section::Events(events) = section {
                sections.push((events.watermark.0, events.n_blocks()));
            }
        }
        assert_eq!(sections, [(3, 1), (4, 0), (5, 1), (8, 0)]);
    }
}
