//! A script's streams done again by threads that a random scheduler chooses between, with no allocator at all.

use crate::replay::script::Script;
use crate::replay::script::record::{Operation, Record};
use crate::replay::script::streams::{Position, read_back_with_places};
use crate::statistics::random::Random;
use std::collections::BTreeMap;

/// Epochs that a thread may be ahead, as the parent chooses them.
const WINDOW: u32 = 2;
const NOT_RUNNING: u32 = u32::MAX;

/// A slot: which generation it is in, and the requested bytes of the block in it.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    generation: u16,
    size: Option<u64>,
    by: usize,
}

#[derive(Debug)]
struct Thread {
    records: Vec<(Position, Record)>,
    at: usize,
    stop: Option<Position>,
    progress: u32,
    has_begun: bool,
    has_ended: bool,
    stays: bool,
    is_parked: bool,
}

/// The result of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Requested bytes of the blocks that are there at the end, in order.
    pub(super) live: Vec<u64>,
    /// Requested bytes of the blocks that were there when all threads stood still.
    pub(super) at_snapshot: Option<u64>,
}

struct Machine<'a> {
    script: &'a Script,
    threads: Vec<Thread>,
    slots: BTreeMap<u32, Slot>,
    snapshot_at: u32,
    at_snapshot: Option<u64>,
}

/// Does a script in some order that its waits allow.
///
/// # Errors
/// No thread can go on, or a record does not fit the state of its slot.
pub(super) fn run(script: &Script, seed: u64) -> Result<Run, String> {
    let mut random = Random::new(seed);
    let threads = script.threads.iter().map(|thread| Thread {
        records: read_back_with_places(&script.records, thread.first),
        at: 0,
        stop: thread.stop,
        progress: if thread.is_spawned { NOT_RUNNING } else { 0 },
        has_begun: !thread.is_spawned,
        has_ended: false,
        stays: false,
        is_parked: false,
    });
    let mut machine = Machine {
        script,
        threads: threads.collect(),
        slots: BTreeMap::new(),
        snapshot_at: script.peak,
        at_snapshot: None,
    };
    let mut order: Vec<usize> = (0..machine.threads.len()).collect();
    loop {
        random.shuffle(&mut order);
        let mut has_moved = false;
        for &thread in &order {
            // Some run far ahead of the others.
            let turns = if random.below(4) == 0 { 1000 } else { 1 + random.below(5) };
            for _ in 0..turns {
                if !machine.step(thread)? {
                    break;
                }
                has_moved = true;
            }
        }
        has_moved |= machine.snapshot_if_all_stand();
        if !has_moved {
            break;
        }
    }
    let stuck = machine.threads.iter().enumerate().filter(|(_, t)| !t.has_ended && !t.stays);
    let stuck: Vec<String> =
        stuck.map(|(i, t)| format!("{i} in {}: {:?}", t.progress, t.records.get(t.at))).collect();
    if !stuck.is_empty() {
        return Err(format!("threads wait for ever: {stuck:?}, snapshot at {}", machine.snapshot_at));
    }
    let mut live: Vec<u64> = machine.slots.values().filter_map(|slot| slot.size).collect();
    live.sort_unstable();
    Ok(Run { live, at_snapshot: machine.at_snapshot })
}

impl Machine<'_> {
    /// One record of a thread, if it can be done now.
    fn step(&mut self, at: usize) -> Result<bool, String> {
        let thread = &self.threads[at];
        if !thread.has_begun || thread.has_ended || thread.stays {
            return Ok(false);
        }
        let (place, record) = thread.records[thread.at];
        if self.snapshot_at != 0 && thread.stop == Some(place) {
            self.threads[at].is_parked = true;
            return Ok(false);
        }
        match record.operation() {
            Operation::End => {
                let thread = &mut self.threads[at];
                (thread.has_ended, thread.progress) = (true, NOT_RUNNING);
                return Ok(true);
            }
            Operation::Stay => {
                let thread = &mut self.threads[at];
                (thread.stays, thread.progress) = (true, NOT_RUNNING);
                return Ok(true);
            }
            Operation::Epoch => {
                let epoch = record.number();
                if self.threads[at].progress != epoch {
                    // Others may have waited for just that.
                    self.threads[at].progress = epoch;
                    return Ok(true);
                }
                self.threads[at].is_parked = self.snapshot_at != 0 && epoch >= self.snapshot_at;
                let slowest = self.threads.iter().map(|t| t.progress).min().unwrap_or(NOT_RUNNING);
                if self.threads[at].is_parked || slowest < epoch.saturating_sub(WINDOW) {
                    return Ok(false);
                }
            }
            Operation::Spawn => {
                if let Some(child) = self.script.created[record.number() as usize] {
                    let epoch = self.threads[at].progress;
                    let child = &mut self.threads[child as usize];
                    if child.has_begun {
                        return Err("a thread is started twice".into());
                    }
                    (child.has_begun, child.progress) = (true, epoch);
                }
            }
            Operation::Join => {
                let joined = record.number() as usize;
                if self.script.threads[joined].is_joined && !self.threads[joined].has_ended {
                    return Ok(false);
                }
            }
            _ => {
                if !self.call(at, record)? {
                    return Ok(false);
                }
            }
        }
        self.threads[at].at += 1;
        Ok(true)
    }

    /// A record about a block; `false` if it has to wait.
    fn call(&mut self, thread: usize, record: Record) -> Result<bool, String> {
        let slot = self.slots.entry(record.number()).or_default();
        let generation = record.generation();
        let asks = !matches!(record.operation(), Operation::Free | Operation::Realloc);
        let is_as_it_says = if asks {
            slot.size.is_none() && slot.generation == generation.wrapping_sub(1)
        } else {
            slot.size.is_some() && slot.generation == generation
        };
        if !is_as_it_says {
            if record.waits() {
                return Ok(false);
            }
            return Err(format!("thread {thread} does not wait and finds {slot:?} at {record:?}"));
        }
        let is_new = slot.generation == 0;
        if record.waits() != (slot.by != thread && !is_new) {
            return Err(format!(
                "thread {thread} waits without need, or does not wait, at {slot:?}, {record:?}"
            ));
        }
        slot.by = thread;
        match record.operation() {
            Operation::Free => slot.size = None,
            Operation::Realloc => {
                slot.size = Some(record.size() as u64);
                slot.generation = generation.wrapping_add(1);
            }
            _ => {
                slot.size = Some(record.size() as u64);
                slot.generation = generation;
            }
        }
        Ok(true)
    }

    /// The parent looks when all threads that run stand or have done everything.
    fn snapshot_if_all_stand(&mut self) -> bool {
        let running: Vec<&Thread> = self.threads.iter().filter(|t| t.has_begun && !t.has_ended).collect();
        let any = running.iter().any(|t| t.is_parked);
        if self.snapshot_at == 0 || !any || running.iter().any(|t| !t.is_parked && !t.stays) {
            return false;
        }
        self.at_snapshot = Some(self.slots.values().filter_map(|slot| slot.size).sum());
        self.snapshot_at = 0;
        self.threads.iter_mut().for_each(|t| t.is_parked = false);
        true
    }
}
