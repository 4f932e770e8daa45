//! The registry of experiments, and what they have in common: threads that hold blocks of mixed sizes and drop most of them.

mod async_pattern;
mod batch;
mod cross;
mod decay;
mod server;
mod shootout;
mod staff;

use crate::random::Random;
use crate::report::{Report, Work};
use std::hint::black_box;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use async_pattern::Connections;

/// The options of an experiment. Each has its own defaults and reads only some of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Threads that allocate.
    pub(crate) threads: usize,
    /// Allocations per thread, or whatever else the experiment counts.
    pub(crate) count: usize,
    /// Blocks that a thread holds at a time.
    pub(crate) live: usize,
    /// How many percent of these blocks stay when the rest is dropped.
    pub(crate) keep_percent: f64,
    /// How long the experiment looks on after the drop.
    pub(crate) seconds: u64,
    /// Allocations per thread and second in that time.
    pub(crate) trickle: usize,
    pub(crate) seed: u64,
    /// Blocks are freed by the thread that has allocated them.
    pub(crate) same: bool,
    /// Blocks are freed by another thread.
    pub(crate) cross: bool,
}

/// What experiments start from.
pub(crate) const DEFAULT: Settings = Settings {
    threads: 8,
    count: 200_000,
    live: 5_000,
    keep_percent: 0.0,
    seconds: 12,
    trickle: 0,
    seed: 1,
    same: false,
    cross: false,
};

/// One experiment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The options that it reads.
    pub(crate) options: &'static [&'static str],
    pub(crate) default: Settings,
    pub(crate) run: fn(&Settings, &mut Report) -> io::Result<Work>,
}

/// All of them.
pub(crate) const ALL: [Experiment; 6] = [
    shootout::EXPERIMENT,
    server::EXPERIMENT,
    cross::EXPERIMENT,
    decay::EXPERIMENT,
    async_pattern::EXPERIMENT,
    batch::EXPERIMENT,
];

/// Sizes of buffers, from the small ones of a header to those of a body.
pub(crate) const SIZES: [usize; 7] = [128, 256, 512, 1024, 2048, 4096, 8192];

/// The blocks that a thread holds; a slot is empty until its first block.
pub(crate) type Held = Vec<Option<Vec<u8>>>;

/// A block with something in it, and its part of the checksum.
pub(crate) fn block(random: &mut Random, work: &mut Work) -> Vec<u8> {
    let mut block = vec![0_u8; random.one_of(&SIZES)];
    black_box(&mut block)[0] = random.below(256) as u8;
    work.allocations += 1;
    work.checksum = work.checksum.wrapping_add(block.len() as u64 + u64::from(block[0]));
    block
}

/// Allocates `count` blocks, each of which takes the place of one of at most `live` others.
pub(crate) fn churn(settings: &Settings, random: &mut Random) -> (Held, Work) {
    let mut work = Work::default();
    let mut held: Held = (0..settings.live).map(|_| None).collect();
    for _ in 0..settings.count {
        let block = block(random, &mut work);
        held[random.below(settings.live)] = Some(block);
    }
    (held, work)
}

/// Drops all blocks but a share that is spread evenly over the slots.
pub(crate) fn drop_most(held: &mut Held, keep_percent: f64) {
    let mut due = 0.0;
    for slot in held.iter_mut() {
        due += keep_percent / 100.0;
        if due >= 1.0 {
            due -= 1.0;
        } else {
            *slot = None;
        }
    }
}

/// Writes down how memory is right now, some times on the way, and at the end of the time.
pub(crate) fn look_on(settings: &Settings, report: &mut Report) -> io::Result<()> {
    let start = Instant::now();
    let seconds = settings.seconds;
    let stops = [1, 2, 5, 7].into_iter().filter(|stop| *stop < seconds);
    for stop in stops.chain((seconds > 0).then_some(seconds)) {
        thread::sleep(Duration::from_secs(stop).saturating_sub(start.elapsed()));
        report.phase(&format!("dropped, +{stop} s"))?;
    }
    Ok(())
}

/// What a thread has done; a thread that has panicked ends the experiment in the same way.
pub(crate) fn joined<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_share_is_kept_and_spread() {
        let mut held: Held = (0..1000).map(|i| Some(vec![i as u8])).collect();
        drop_most(&mut held, 1.0);
        let kept: Vec<_> = (0..1000).filter(|&i| held[i].is_some()).collect();
        assert_eq!(kept.len(), 10, "{kept:?}");
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= 101), "{kept:?}");
        drop_most(&mut held, 0.0);
        assert!(held.iter().all(Option::is_none));
    }

    #[test]
    fn every_experiment_does_the_same_work_each_time() {
        for experiment in &ALL {
            let settings = Settings {
                threads: 2,
                count: experiment.default.count.min(300),
                live: 50,
                seconds: 0,
                ..experiment.default
            };
            let work = || (experiment.run)(&settings, &mut Report::begin().unwrap()).unwrap();
            let first = work();
            assert!(first.allocations > 0, "{}", experiment.name);
            assert_eq!(first, work(), "{}", experiment.name);
            let other = Settings { seed: 2, ..settings };
            let other = (experiment.run)(&other, &mut Report::begin().unwrap()).unwrap();
            assert_ne!(first.checksum, other.checksum, "{}", experiment.name);
        }
    }
}
