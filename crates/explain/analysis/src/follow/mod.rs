//! A recording that is still being written: the same accounts, looked at between two sections.
//!
//! Nothing is kept twice. What is read here are the accounts that [`analyze`](crate::analyze) makes its tables of, so they cost nothing
//! but to be copied, and what is seen in the end is what the report says. Names come later and from others: [`Follow::unnamed`] says
//! which addresses are wanted, and [`Follow::add_symbols`] takes what was found for them.

mod places;

use crate::accounting::Breakdown;
use crate::ahead::Ahead;
use crate::analysis::{Memory, MemorySample};
use crate::analyze::Options;
use crate::error::Error;
use crate::heap::not_below_zero;
use crate::totals::Totals;
use crate::units::{Bytes, Nanos};
use heapwise_trace::file::Reader;
use heapwise_trace::file::reader::Tail;
use heapwise_trace::file::records::{Meta, ProcessInfo, RunEnd};
use places::Places;
pub use places::StackPlace;
use std::io::Read;

/// The accounts of a recording, up to what was read of it.
#[derive(Debug)]
pub struct Follow<R: Read> {
    ahead: Ahead<R>,
    places: Places,
    is_over: bool,
}

/// The sums at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MomentSums {
    /// Since the command was started.
    pub time: Nanos,
    /// Allocations, reallocations, bytes and the like; the fields about a peak and an end are zero.
    pub totals: Totals,
    pub live: Bytes,
    pub live_blocks: u64,
    /// The most live bytes so far.
    pub peak_live: Bytes,
    /// Resident bytes of all processes together.
    pub rss: Bytes,
    /// The most so far.
    pub peak_rss: Bytes,
    /// Processes that are not known to have ended.
    pub running: usize,
}

/// What one recorded stack has allocated so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackSums {
    /// Allocations and reallocations.
    pub requests: u64,
    /// Their bytes.
    pub requested_bytes: u64,
    pub live_bytes: u64,
    pub live_blocks: u64,
    /// Requests that were recorded (all, or those of a sample), and blocks from an earlier file.
    pub samples: u64,
    /// Live bytes that an earlier file of the recording has left.
    pub carried_bytes: u64,
}

/// A thread so far.
#[derive(Clone, Copy, Debug)]
pub struct ThreadSums<'a> {
    /// Its process's id.
    pub pid: u32,
    pub tid: u32,
    /// Its last known name.
    pub name: &'a str,
    /// As in [`MomentSums::totals`].
    pub totals: Totals,
    /// What is live of the blocks that it allocated.
    pub live: Bytes,
    pub has_ended: bool,
}

impl<R: Read> Follow<R> {
    /// Begins with nothing read but the header.
    pub fn new(reader: Reader<R>, options: &Options) -> Self {
        Self { ahead: Ahead::new(reader, options), places: Places::default(), is_over: false }
    }

    /// Goes on by a section, which may wait for the stream. `false` where the stream ends, or cannot be read any further;
    /// [`Follow::tail`] says which.
    ///
    /// # Errors
    /// The stream's.
    pub fn step(&mut self) -> Result<bool, Error> {
        if !self.ahead.step()? {
            return Ok(false);
        }
        if self.ahead.run.end.is_some() && !self.is_over {
            self.is_over = true;
            // The last events waited for more. What is live now stays so: a process's end is no free.
            self.ahead.run.all_are_sampled();
            self.ahead.run.sequence_held();
            self.ahead.run.sequencer.flush();
        }
        Ok(true)
    }

    /// Bytes of whole sections that were read.
    pub fn offset(&self) -> u64 {
        self.ahead.offset()
    }

    /// How the stream ended, if it did.
    pub fn tail(&self) -> Option<Tail> {
        self.ahead.reader.tail()
    }

    /// How the run ended, once it has.
    pub fn end(&self) -> Option<&RunEnd> {
        self.ahead.run.end.as_ref()
    }

    pub fn meta(&self) -> &Meta {
        &self.ahead.run.meta
    }

    /// The processes, in the order in which they joined; and whether each has ended.
    pub fn processes(&self) -> impl Iterator<Item = (&ProcessInfo, bool)> {
        self.ahead.run.processes.iter().map(|process| (&process.info, process.end.is_some()))
    }

    /// What the allocator of the first process is called.
    pub fn allocator_name(&self) -> String {
        let path = self.ahead.run.processes.first().map_or("", |first| first.info.allocator.as_str());
        crate::main_allocator::allocator_name(path, &self.ahead.run.meta.c_library)
    }

    /// The sums now.
    pub fn now(&self) -> MomentSums {
        let run = &self.ahead.run;
        let ledger = &run.sequencer.ledger;
        let mut totals = Totals::default();
        ledger.threads.iter().for_each(|thread| totals.add_counts(&thread.counts));
        let end = run.end.as_ref();
        MomentSums {
            time: Nanos(run.sequencer.clock.last_ns().max(end.map_or(0, |end| end.duration_ns))),
            totals,
            live: Bytes(not_below_zero(ledger.overall.bytes)),
            live_blocks: not_below_zero(ledger.overall.blocks),
            peak_live: Bytes(ledger.overall.peak_bytes),
            rss: Bytes(run.rss_now),
            peak_rss: Bytes(run.peak_rss.max(run.rss_now).max(end.map_or(0, |end| end.peak_rss_bytes))),
            running: if self.is_over { 0 } else { run.processes.iter().filter(|p| p.end.is_none()).count() },
        }
    }

    /// Resident and live bytes over time, in at most so many points.
    pub fn memory(&self, most: usize) -> Vec<MemorySample> {
        let live = self.ahead.run.sequencer.ledger.timeline.clone();
        Memory { live, rss: self.ahead.run.rss.clone(), ..Memory::default() }.samples(most)
    }

    /// All stacks so far, each at the same place ever after.
    pub fn stacks(&self) -> impl Iterator<Item = StackSums> {
        let ledger = &self.ahead.run.sequencer.ledger;
        let is_sample = ledger.sampling.is_on();
        ledger.sites.iter().enumerate().map(move |(at, site)| {
            let carried = ledger.carried_by_site.get(&(at as u32)).copied().unwrap_or_default();
            let (live_bytes, live_blocks) = site.live();
            let requests = site.allocations + site.reallocations;
            StackSums {
                requests,
                requested_bytes: site.allocated_bytes,
                live_bytes,
                live_blocks,
                samples: carried.recorded
                    + if is_sample {
                        site.sample.as_ref().map_or(0, |sample| sample.samples)
                    } else {
                        requests
                    },
                carried_bytes: carried.bytes,
            }
        })
    }

    /// The threads, in the order in which they joined.
    pub fn threads(&self) -> impl Iterator<Item = ThreadSums<'_>> {
        let ledger = &self.ahead.run.sequencer.ledger;
        // A single thread has no separate gauge.
        let live = |own: u64| if ledger.threads.len() > 1 { own } else { ledger.overall.bytes };
        self.ahead.run.threads.iter().zip(&ledger.threads).map(move |(thread, sums)| {
            let last_name = thread.end.as_ref().map(|end| end.name.as_str()).filter(|name| !name.is_empty());
            ThreadSums {
                pid: self
                    .ahead
                    .run
                    .processes
                    .get(sums.process as usize)
                    .map_or(0, |process| process.info.pid),
                tid: thread.info.tid,
                name: last_name.unwrap_or(&thread.info.name),
                totals: sums.counts,
                live: Bytes(not_below_zero(live(sums.live.bytes))),
                has_ended: thread.end.is_some(),
            }
        })
    }

    /// When the pages of the process with the highest resident set were looked at last, if they were; and whether it has ended.
    pub fn looked_at(&self) -> Option<(Nanos, bool)> {
        let (time_ns, slot) = self.ahead.run.sequencer.residency.newest_look()?;
        let has_ended =
            self.ahead.run.processes.get(slot as usize).is_none_or(|process| process.end.is_some());
        Some((Nanos(time_ns), has_ended))
    }

    /// What the resident pages consisted of then. Takes time with the live blocks.
    pub fn breakdown(&mut self) -> Option<Breakdown> {
        let sequencer = &mut self.ahead.run.sequencer;
        let ledger = &sequencer.ledger;
        let touched = |slot| ledger.line_of(slot).into_iter().map(|at| &ledger.processes[at].touched_pages);
        sequencer.residency.newest(|slot| touched(slot).collect(), &ledger.site_allocators)
    }
}
