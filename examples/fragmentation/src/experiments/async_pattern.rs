//! What an asynchronous server allocates: buffers of many sizes, most of which live for a request, among some that live as
//! long as a connection.

use super::staff::Staff;
use super::{DEFAULT, Experiment, Settings, look_on};
use crate::random::Random;
use crate::report::{Report, Work};
use std::hint::black_box;
use std::io;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "async-pattern",
    about: "buffers of mixed sizes, long-lived connections between short requests",
    options: &["threads", "count", "keep", "seconds", "seed"],
    default: Settings { threads: 1, count: 500_000, ..DEFAULT },
    run,
};

const SIZES: [usize; 8] = [128, 256, 512, 1024, 2048, 4096, 8192, 16384];
/// Seven of ten buffers are of requests, which end within so many steps.
const REQUEST_STEPS: usize = 20;
/// The others are of connections, which stay at least and at most so many.
const CONNECTION_STEPS: (usize, usize) = (100, 2000);

/// What one thread serves.
#[derive(Debug)]
pub(crate) struct Connections {
    /// Buffers by the step in which they end, in a ring.
    ends: Vec<Vec<Vec<u8>>>,
    now: usize,
    random: Random,
}

impl Connections {
    pub(crate) fn of_thread(seed: u64, thread: usize) -> Self {
        let ends = (0..=CONNECTION_STEPS.1).map(|_| Vec::new()).collect();
        Self { ends, now: 0, random: Random::of_thread(seed, thread) }
    }

    /// Two to five new buffers, and an end for those whose time has come.
    pub(crate) fn step(&mut self, work: &mut Work) {
        for _ in 0..2 + self.random.below(4) {
            let mut buffer = vec![0_u8; self.random.one_of(&SIZES)];
            black_box(&mut buffer)[0] = self.random.below(256) as u8;
            let steps = if self.random.below(10) < 7 {
                1 + self.random.below(REQUEST_STEPS)
            } else {
                CONNECTION_STEPS.0 + self.random.below(CONNECTION_STEPS.1 - CONNECTION_STEPS.0)
            };
            work.allocations += 1;
            work.checksum = work.checksum.wrapping_add(buffer.len() as u64 + u64::from(buffer[0]));
            let end = (self.now + steps) % self.ends.len();
            self.ends[end].push(buffer);
        }
        self.now = (self.now + 1) % self.ends.len();
        self.ends[self.now].clear();
    }

    /// Ends all but some percent of what is open, evenly.
    pub(crate) fn close_most(&mut self, keep_percent: f64) {
        let mut due = 0.0;
        for end in &mut self.ends {
            end.retain(|_| {
                due += keep_percent / 100.0;
                let stays = due >= 1.0;
                due -= if stays { 1.0 } else { 0.0 };
                stays
            });
            end.shrink_to_fit();
        }
    }
}

fn run(settings: &Settings, report: &mut Report) -> io::Result<Work> {
    let staff = Staff::start(settings, |settings, thread, stages, work| {
        let mut connections = Connections::of_thread(settings.seed, thread);
        let half = settings.count / 2;
        (0..half).for_each(|_| connections.step(work));
        stages.next();
        stages.next();
        (half..settings.count).for_each(|_| connections.step(work));
        stages.next();
        stages.next();
        connections.close_most(settings.keep_percent);
        stages.next();
        connections
    });
    staff.next();
    report.phase("steady, half of it")?;
    staff.next();
    staff.next();
    report.phase("steady, all of it")?;
    staff.next();
    staff.next();
    report.phase("dropped")?;
    look_on(settings, report)?;
    Ok(staff.work())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(connections: &Connections) -> usize {
        connections.ends.iter().map(Vec::len).sum()
    }

    #[test]
    fn the_number_of_open_connections_settles() {
        let (mut connections, mut work) = (Connections::of_thread(1, 0), Work::default());
        (0..4_000).for_each(|_| connections.step(&mut work));
        let (early, before) = (open(&connections), work.allocations);
        (0..4_000).for_each(|_| connections.step(&mut work));
        assert!(open(&connections).abs_diff(early) < early / 10, "{early} {}", open(&connections));
        // 3.5 in a step; 30 % of them stay 1050 steps on average.
        let per_step = (work.allocations - before) as f64 / 4000.0;
        assert!((3.3..3.7).contains(&per_step), "{per_step}");
        assert!((900..1300).contains(&early), "{early}");
        connections.close_most(1.0);
        assert!((5..20).contains(&open(&connections)));
    }
}
