//! The thread that writes the file.

mod facts;
mod marks;
mod names;
mod output;
mod stacks;
mod threads;

use crate::queue::{self, Entry};
use crate::state::{self, Written};
use crate::system;
use heapwise_trace::event::Epoch;
use heapwise_trace::file::records::{ProcessEnd, ProcessIndex, RunEnd};
use heapwise_trace::file::tables::{Sample, Samples};
use marks::Marks;
use names::Names;
use output::Output;
use stacks::Stacks;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use threads::Threads;

/// The only process of such a recording.
const PROCESS: ProcessIndex = ProcessIndex(0);
/// How often the queue is emptied, and memory looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often the names of what is new are looked up: a program that is killed has them, too.
const NAMING: Duration = Duration::from_secs(1);

/// What is to be written.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) sample_bytes: u64,
    pub(super) began: Instant,
    pub(super) started_unix_ns: u64,
}

/// Writes until it is to stop. Calls `tell_begun` when the file is a recording.
pub(super) fn run(job: Job, tell_begun: impl FnOnce()) -> io::Result<Written> {
    let mut scribe = Scribe {
        output: Output::begin(&job.file, &facts::meta(&job))?,
        threads: Threads::new(job.sample_bytes > 1),
        stacks: Stacks::default(),
        names: Names::default(),
        marks: Marks::default(),
        samples: Vec::new(),
        peak_rss_bytes: 0,
        n_events: 0,
        named_at: Instant::now(),
        job: &job,
    };
    let process = facts::process();
    scribe.output.write(|w| w.process(&process))?;
    tell_begun();
    let mut empty = queue::buffer();
    loop {
        let is_last = queue::is_to_stop();
        let words = if is_last {
            queue::close()
        } else {
            queue::wait(TICK);
            queue::take(empty)
        };
        if let Err(error) = scribe.batch(&words, is_last) {
            state::give_up();
            drop(queue::close());
            return Err(error);
        }
        if is_last {
            break;
        }
        empty = words;
        empty.clear();
    }
    scribe.end()
}

struct Scribe<'a> {
    output: Output<'a>,
    threads: Threads,
    stacks: Stacks,
    names: Names,
    marks: Marks,
    samples: Vec<Sample>,
    peak_rss_bytes: u64,
    n_events: u64,
    named_at: Instant,
    job: &'a Job,
}

impl Scribe<'_> {
    fn now_ns(&self) -> u64 {
        self.job.began.elapsed().as_nanos() as u64
    }

    /// Writes what was taken from the queue.
    fn batch(&mut self, words: &[u64], is_last: bool) -> io::Result<()> {
        for entry in queue::entries(words) {
            match entry {
                Entry::Name { thread, id, name } => self.threads.name(thread, id, name),
                Entry::Mark { thread, time_ns, kind, name } => {
                    let name = self.marks.id(name);
                    self.threads.mark(thread, time_ns, kind, name);
                }
                Entry::Event { thread, time_ns, note, frames } => {
                    let stack = self.stacks.enter(frames, &mut self.names);
                    self.threads.event(thread, time_ns, note, stack);
                    self.n_events += 1;
                }
            }
        }
        let now = self.now_ns();
        if let Some(rss_bytes) = system::resident_bytes() {
            self.peak_rss_bytes = self.peak_rss_bytes.max(rss_bytes);
            self.samples.push(Sample { process: PROCESS, time_ns: now, rss_bytes });
        }
        self.section(now)?;
        if is_last || self.named_at.elapsed() >= NAMING {
            for symbols in self.names.new_symbols(self.stacks.modules()) {
                self.output.write(|w| w.symbols(&symbols))?;
            }
            self.named_at = Instant::now();
        }
        Ok(())
    }

    fn section(&mut self, now: u64) -> io::Result<()> {
        let samples = Samples(std::mem::take(&mut self.samples));
        let (modules, nodes) = (self.stacks.new_modules(), self.stacks.new_nodes());
        let section = self.threads.section(now);
        let marks = self.marks.new_names();
        self.output.write(|w| {
            section.threads.iter().try_for_each(|thread| w.thread(thread))?;
            modules.iter().try_for_each(|module| w.module(module))?;
            nodes.iter().try_for_each(|nodes| w.nodes(nodes))?;
            marks.iter().try_for_each(|names| w.mark_names(names))?;
            section.events.iter().try_for_each(|events| w.events(events))?;
            w.clock(&section.readings)?;
            w.samples(&samples)
        })
    }

    fn end(mut self) -> io::Result<Written> {
        let (lost_events, epoch) = (queue::lost().all(), Epoch(self.threads.epoch()));
        let run_end = RunEnd {
            duration_ns: self.now_ns(),
            peak_rss_bytes: self.peak_rss_bytes,
            // Of the clock of marks; no call is measured here.
            ticks_per_second: 1_000_000_000,
            ..RunEnd::default()
        };
        let still_running = !state::is_exiting();
        let end = ProcessEnd { index: PROCESS, epoch, still_running, lost_events, ..ProcessEnd::default() };
        let ends = self.threads.ends();
        self.output.write(|w| {
            ends.iter().try_for_each(|end| w.thread_end(end))?;
            w.process_end(&end)?;
            w.run_end(&run_end)
        })?;
        let bytes = self.output.finish()?;
        Ok(Written { path: self.job.path.clone(), events: self.n_events, lost_events, bytes })
    }
}
