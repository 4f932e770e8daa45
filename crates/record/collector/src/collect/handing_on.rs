//! Hands batches to the packer, and ends a file with one when it is time.

use super::Collector;
use crate::encode::Batch;
use crate::process::Process;
use crate::rotation::Cut;
use heapwise_trace::file::records::ThreadIndex;
use std::sync::mpsc::TrySendError;

impl Collector<'_> {
    /// Hands on what there is; keeps it if the queue is full, unless there is no later.
    pub(super) fn send(&mut self, wait: bool) {
        let now = self.started.elapsed();
        if !wait && self.has_ended && now >= self.next_cut {
            // What an ended process has published belongs to the file that says how it ended, so the clock goes on behind it.
            self.round(now);
        }
        let mut held_back = false;
        for mut process in std::mem::take(&mut self.processes) {
            if !wait && process.may_ask(&self.planner) {
                held_back = true;
                self.processes.push(process);
                continue;
            }
            self.describe(&mut process);
            let (_, mut common, news) = self.parts();
            // Events do not go before the nodes that they name.
            if process.read_tables(&mut common, news, false) {
                self.batch.blocks.extend(process.take_pending(&self.packer.buffers));
            } else {
                held_back = true;
            }
            self.processes.push(process);
        }
        merge_blocks(&mut self.batch);
        self.probes.want_inside(self.planner.numbered());
        self.processes.iter_mut().for_each(|process| self.probes.hear(process));
        self.batch.sizes.extend(self.probes.answers(wait));
        // When recording is over, further files would have nothing, and take the place of those that are kept.
        if !wait && !held_back && !self.processes.is_empty() && !self.session.is_stopped() {
            self.cut_if_due();
        }
        self.forward(wait, held_back);
    }

    /// Ends the file at hand with this batch if it is time.
    fn cut_if_due(&mut self) {
        let Some(cuts) = &self.cuts else { return };
        let now = self.started.elapsed();
        // Everything that was published before the watermark is there, and when that was is known.
        if now < self.next_cut
            || self.has_left
            || self.has_ended
            || self.parked.is_some()
            || self.batch.clock.0.last().map(|(epoch, _)| *epoch) != Some(self.batch.watermark)
        {
            return;
        }
        let watermark = self.batch.watermark;
        let processes = self.processes.iter_mut().map(|process| process.so_far(watermark, true)).collect();
        let mut outcome = self.outcome.clone();
        outcome.images = self.images.paths();
        for process in &self.processes {
            for (of, entered) in process.entered(&self.planner) {
                outcome.entered.entry(of).or_default().merge(&entered);
            }
        }
        let end = (cuts.end)(&outcome);
        self.next_cut = now + cuts.every;
        // The next file has a peak of its own.
        self.outcome.peak_rss_bytes = 0;
        self.knows_peak = false;
        self.batch.cut = Some(Box::new(Cut { end, processes }));
    }

    /// Hands the batch to the packer. If something is `held_back`, it promises no more than the one before.
    pub(super) fn forward(&mut self, wait: bool, held_back: bool) {
        if let Some(end) = self.parked.take() {
            self.parked = self.hand_on(end, wait);
        }
        if self.parked.is_none() {
            let watermark = self.batch.watermark;
            if held_back {
                self.batch.watermark = self.sent_watermark;
            }
            let promised = self.batch.watermark;
            let batch = std::mem::take(&mut self.batch);
            match self.hand_on(batch, wait) {
                Some(batch) if batch.cut.is_none() => self.batch = batch,
                kept => {
                    self.parked = kept;
                    self.sent_watermark = promised;
                }
            }
            self.batch.watermark = watermark;
        }
        let of_rings = self.processes.iter().map(Process::pending_bytes).sum::<usize>();
        let kept = [Some(&self.batch), self.parked.as_ref()].into_iter().flatten();
        self.pending_bytes =
            kept.flat_map(|batch| &batch.blocks).map(|(_, words)| words.len() * 8).sum::<usize>() + of_rings;
    }

    /// Gives the packer a batch. Returns it if there is no place in the queue.
    fn hand_on(&mut self, batch: Batch, wait: bool) -> Option<Batch> {
        let sent = if wait {
            self.packer.batches.send(batch).map_err(|error| TrySendError::Disconnected(error.0))
        } else {
            self.packer.batches.try_send(batch)
        };
        match sent {
            Ok(()) => None,
            Err(TrySendError::Full(batch)) => Some(batch),
            Err(TrySendError::Disconnected(_)) => {
                if !std::mem::replace(&mut self.failed, true) {
                    self.stop("the recording could not be written".into());
                }
                None
            }
        }
    }
}

/// One block per thread: a batch that was kept back may have several.
fn merge_blocks(batch: &mut Batch) {
    let mut merged: Vec<(ThreadIndex, Vec<u64>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (thread, words) in batch.blocks.drain(..) {
        match places.get(&thread) {
            Some(&i) => {
                let (_, before): &mut (_, Vec<u64>) = &mut merged[i];
                before.extend_from_slice(&words);
            }
            None => {
                places.insert(thread, merged.len());
                merged.push((thread, words));
            }
        }
    }
    batch.blocks = merged;
}
