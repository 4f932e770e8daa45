//! Samples resident memory, and has the pages of processes looked at.

use super::Collector;
use super::pace::Pace;
use crate::shares::Resident;
use crate::sys;
use heapwise_trace::file::pages::Reason;
use heapwise_trace::file::tables::Sample;
use std::time::Duration;

impl Collector<'_> {
    /// Samples resident memory, and takes out processes that are gone.
    pub(super) fn sample(&mut self, now: Duration, pace: Pace) {
        let mut gone = Vec::new();
        let mut due = Vec::new();
        let mut resident = Vec::with_capacity(self.processes.len());
        for (i, process) in self.processes.iter().enumerate() {
            let Some(pages) = sys::resident_pages(process.info.pid) else {
                gone.push(i);
                continue;
            };
            let own_bytes = process.own_bytes();
            let rss_bytes = (pages * self.page_bytes).saturating_sub(own_bytes);
            due.extend(process.snapshot_is_due(now, rss_bytes).map(|reason| (i, reason)));
            resident.push(Resident {
                process: process.info.index,
                pid: process.info.pid,
                rss_bytes,
                own_bytes,
            });
        }
        let (shares, is_once) = self.shares.of(&resident, now);
        // The processes are read one after the other, and one that ends in between leaves its share to those that are read
        // later. Such a sum is too high and left out, unless processes end all the time.
        let is_torn = shares.len() > 1 && resident.iter().any(|r| sys::resident_pages(r.pid).is_none());
        if !is_torn {
            self.last_whole_sample = now;
        }
        if !is_torn || now.saturating_sub(self.last_whole_sample) > pace.longest_gap() {
            let time_ns = now.as_nanos() as u64;
            let samples = resident.iter().zip(&shares);
            let samples = samples.map(|(r, &rss_bytes)| Sample { process: r.process, time_ns, rss_bytes });
            self.batch.samples.0.extend(samples);
            let total = shares.iter().sum();
            if total > self.outcome.peak_rss_bytes {
                self.outcome.peak_rss_bytes = total;
                self.outcome.shared_pages_count_once = is_once;
            }
        }
        due.into_iter().for_each(|(i, reason)| self.snapshot(i, reason));
        for i in gone.into_iter().rev() {
            self.end(i, now);
        }
    }

    /// Takes snapshots of the pages of processes that are about to end, and lets them end.
    pub(super) fn exit_handshakes(&mut self) {
        for i in 0..self.processes.len() {
            if self.processes[i].waits_for_exit_snapshot() {
                self.note_peak(i);
                match self.session.is_sampling() {
                    // Its pages say nothing.
                    true => self.processes[i].let_go(),
                    false => self.snapshot(i, Reason::Latest),
                }
            }
        }
    }

    /// The kernel knows the most memory that a process ever had, however short its life was. All of them together have had
    /// no less.
    fn note_peak(&mut self, index: usize) {
        let process = &self.processes[index];
        if self.knows_peak
            && let Some(bytes) = sys::peak_resident_bytes(process.info.pid)
        {
            let bytes = bytes.saturating_sub(process.own_bytes());
            if bytes > self.outcome.peak_rss_bytes {
                self.outcome.peak_rss_bytes = bytes;
                self.outcome.shared_pages_count_once = true;
            }
        }
    }

    pub(super) fn snapshot(&mut self, index: usize, reason: Reason) {
        if self.session.is_sampling() {
            return;
        }
        // A thread's ring comes with memory that is not the program's.
        let (processes, mut common, _) = self.parts();
        processes[index].find_rings(&mut common);
        let process = &mut self.processes[index];
        let how = (self.started, self.page_bytes);
        if let Some((epoch, snapshot)) = process.snapshot(self.session, &mut self.images, how, reason) {
            self.batch.clock.0.push((epoch, snapshot.time_ns));
            self.batch.snapshots.push(snapshot);
        }
    }
}
