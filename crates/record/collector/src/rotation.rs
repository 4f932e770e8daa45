//! From one file of a recording to the next one.
//!
//! A file ends at a reading of the clock before which every event was published and is in it. What is published later goes into the
//! next one, which begins with what is needed to understand it alone: the processes and threads that go on, their modules, nodes
//! and names, and the blocks that are live.

use crate::buffers::Buffers;
use crate::output::{self, SectionFile};
use crate::parts::Parts;
use heapwise_trace::event::{Epoch, Event};
use heapwise_trace::file::carried::Carried;
use heapwise_trace::file::pages::UsableSizes;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, MarkNames, Nodes};
use heapwise_trace::file::{Error, Reader, Section, Writer};
use heapwise_trace::live::words;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Nodes per section, so that sections stay small.
pub(crate) const NODES_AT_ONCE: usize = 1 << 20;

/// A recording in several files, of which the last ones are kept.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    /// How long one file lasts.
    pub every: Duration,
    /// How many files are kept: two at least, the one that is written and the one before it.
    pub keep: usize,
    /// Finds out which blocks are live at the end of a file.
    pub live: fn(&File) -> Result<Vec<Carried>, String>,
    /// Hears of each file that is complete, but for the last one.
    pub closed: fn(&Path),
}

/// The end of a file, as the loop knows it.
#[derive(Debug)]
pub struct Cut {
    /// How the recording stands. It goes on.
    pub end: RunEnd,
    /// What there is to say of the processes, which go on.
    pub processes: Vec<ProcessEnd>,
}

/// What the packer needs to begin a new file.
#[derive(Debug)]
pub struct Files {
    how: Rotation,
    parts: Parts,
    meta: Meta,
    /// The file that is being written.
    path: PathBuf,
    /// When it began, in nanoseconds since the recording did.
    began_ns: u64,
    started_unix_ns: u64,
}

impl Files {
    /// Begins with the first file, which is named after another one.
    ///
    /// # Errors
    /// Those of creating it.
    pub fn begin(named: &Path, how: Rotation, meta: &mut Meta) -> Result<(Self, File), crate::Error> {
        let mut parts = Parts::new(named, how.keep.max(2));
        let (path, file) = parts.create_next()?;
        parts.remove_oldest();
        meta.part = 1;
        let started_unix_ns = meta.started_unix_ns;
        Ok((Self { how, parts, meta: meta.clone(), path, began_ns: 0, started_unix_ns }, file))
    }

    /// When the file at hand began, in nanoseconds since the recording did.
    pub(crate) fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// How all files are called, for people.
    pub(crate) fn pattern(&self) -> PathBuf {
        self.parts.pattern()
    }

    /// The file at hand.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the next file at a reading of the clock; `old` is complete.
    pub(crate) fn next(&mut self, old: &File, at: (Epoch, u64)) -> Result<Writer<SectionFile>, Error> {
        let failed = |error: String| Error::from(std::io::Error::other(error));
        let carried = (self.how.live)(old).map_err(failed)?;
        let standing = Standing::of(old, &carried)?;
        let (path, file) = self.parts.create_next().map_err(|error| failed(error.to_string()))?;
        // First, for there may be no room for one more. The file at hand stays, whatever becomes of its successor.
        self.parts.remove_oldest();
        self.meta.part += 1;
        self.meta.started_unix_ns = self.started_unix_ns.saturating_add(at.1);
        let written = self.write(file, &standing, at.0, &carried);
        let writer = written.inspect_err(|_| output::remove(&path))?;
        self.began_ns = at.1;
        (self.how.closed)(&std::mem::replace(&mut self.path, path));
        Ok(writer)
    }

    /// What a file begins with.
    fn write(
        &self,
        file: File,
        standing: &Standing,
        epoch: Epoch,
        carried: &[Carried],
    ) -> Result<Writer<SectionFile>, Error> {
        let mut writer = Writer::new(SectionFile::new(file), &self.meta)?;
        standing.write(&mut writer)?;
        writer.clock(&ClockReadings(vec![(epoch, 0)]))?;
        carried.iter().try_for_each(|carried| writer.carried(carried))?;
        writer.flush()?;
        Ok(writer)
    }
}

/// Takes out the words of all threads that belong to the next file, which begins with an epoch.
pub(crate) fn split(
    blocks: &mut [(ThreadIndex, Vec<u64>)],
    next: Epoch,
    buffers: &Buffers,
) -> Vec<(ThreadIndex, Vec<u64>)> {
    let mut later = Vec::new();
    for (thread, block) in blocks {
        let at = words_before(block, next);
        if at < block.len() {
            let mut rest = buffers.take();
            rest.extend_from_slice(&block[at..]);
            block.truncate(at);
            later.push((*thread, rest));
        }
    }
    later
}

/// How many words there are before an epoch begins.
fn words_before(block: &[u64], next: Epoch) -> usize {
    let mut at = 0;
    while let Some((event, used)) = words::decode(&block[at..]) {
        if matches!(event, Event::Epoch(epoch) if epoch >= next) {
            break;
        }
        at += used;
    }
    // Words that are no event are reported where they are.
    at.min(block.len())
}

/// Records of what goes on.
#[derive(Debug, Default)]
struct Standing {
    processes: BTreeMap<ProcessIndex, ProcessInfo>,
    threads: BTreeMap<ThreadIndex, ThreadInfo>,
    thread_ends: BTreeMap<ThreadIndex, ThreadEnd>,
    modules: Vec<ModuleInfo>,
    nodes: BTreeMap<ProcessIndex, Vec<Nodes>>,
    mark_names: Vec<MarkNames>,
    sizes: Vec<UsableSizes>,
}

impl Standing {
    fn of(mut file: &File, carried: &[Carried]) -> Result<Self, Error> {
        file.seek(SeekFrom::Start(0))?;
        let mut reader = Reader::new(BufReader::with_capacity(1 << 20, file))?;
        let mut all = Self::default();
        while let Some(section) = reader.next_section()? {
            all.add(section);
        }
        // A thread that has ended is still known as the one that blocks are from.
        let needed: BTreeSet<ThreadIndex> =
            carried.iter().flat_map(|carried| carried.blocks.iter().map(|block| block.thread)).collect();
        let (processes, ends) = (&all.processes, &all.thread_ends);
        all.threads.retain(|index, info| {
            processes.contains_key(&info.process) && (needed.contains(index) || !ends.contains_key(index))
        });
        let threads = &all.threads;
        all.thread_ends.retain(|index, _| threads.contains_key(index));
        Ok(all)
    }

    fn add(&mut self, section: Section) {
        match section {
            Section::Process(info) => {
                self.processes.insert(info.index, info);
            }
            Section::Thread(info) => {
                self.threads.insert(info.index, info);
            }
            Section::ThreadEnd(end) => {
                self.thread_ends.insert(end.index, end);
            }
            Section::Module(info) => self.modules.push(info),
            Section::Nodes(nodes) => add_nodes(self.nodes.entry(nodes.process).or_default(), nodes),
            Section::MarkNames(names) => self.mark_names.push(names),
            Section::UsableSizes(sizes) => self.sizes.push(sizes),
            Section::ProcessEnd(end) if !end.still_running => {
                self.processes.remove(&end.index);
                self.modules.retain(|module| module.process != end.index);
                self.nodes.remove(&end.index);
                self.mark_names.retain(|names| names.process != end.index);
            }
            _ => {}
        }
    }

    fn write(&self, writer: &mut Writer<SectionFile>) -> Result<(), Error> {
        self.processes.values().try_for_each(|process| writer.process(process))?;
        self.threads.values().try_for_each(|thread| writer.thread(thread))?;
        self.thread_ends.values().try_for_each(|end| writer.thread_end(end))?;
        self.modules.iter().try_for_each(|module| writer.module(module))?;
        self.nodes.values().flatten().try_for_each(|nodes| writer.nodes(nodes))?;
        self.mark_names.iter().try_for_each(|names| writer.mark_names(names))?;
        self.sizes.iter().try_for_each(|sizes| writer.usable_sizes(sizes))
    }
}

/// Puts runs of nodes together that follow one another: there is one more for each batch that brought new ones.
fn add_nodes(runs: &mut Vec<Nodes>, new: Nodes) {
    match runs.last_mut() {
        Some(last)
            if last.first_id as usize + last.nodes.len() == new.first_id as usize
                && last.nodes.len() + new.nodes.len() <= NODES_AT_ONCE =>
        {
            last.nodes.extend(new.nodes);
        }
        _ => runs.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::event::BlockAddress;

    fn words(events: &[Event]) -> Vec<u64> {
        let encoded = events.iter().map(|event| words::encode(*event));
        encoded.flat_map(|words| words.words[..words.len].to_vec()).collect()
    }

    #[test]
    fn what_is_published_at_the_end_or_later_is_in_the_next_file() {
        let free = |at: u64| Event::Free { address: BlockAddress(at << 4), touched: Default::default() };
        let before = [Event::Epoch(Epoch(5)), free(1), Event::Epoch(Epoch(6)), free(2)];
        let after = [Event::Epoch(Epoch(7)), free(3), Event::Epoch(Epoch(9)), free(4)];
        let whole = words(&[before, after].concat());
        let (thread, other) = (ThreadIndex(0), ThreadIndex(1));
        let mut blocks = vec![(thread, whole.clone()), (other, words(&before))];
        let later = split(&mut blocks, Epoch(7), &Buffers::default());
        assert_eq!(blocks, [(thread, words(&before)), (other, words(&before))]);
        assert_eq!(later, [(thread, words(&after))]);
        assert_eq!(words_before(&whole, Epoch(8)), words(&before).len() + words(&after[..2]).len());
        assert_eq!(words_before(&[], Epoch(8)), 0);
    }

    #[test]
    fn runs_of_nodes_that_follow_one_another_are_one() {
        let run = |first_id, n| Nodes { process: ProcessIndex(0), first_id, nodes: vec![(0, 8); n] };
        let mut runs = Vec::new();
        [run(0, 2), run(2, 3), run(9, 1)].into_iter().for_each(|nodes| add_nodes(&mut runs, nodes));
        assert_eq!(runs, [run(0, 5), run(9, 1)]);
    }
}
