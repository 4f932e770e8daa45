//! Threads that stay: what a service does after a burst. They fill their heaps, drop nearly everything, and then sleep or
//! have a trickle of work. Nothing ends, so no allocator gets an occasion to tidy up but those it makes itself.

use super::staff::Staff;
use super::{DEFAULT, Experiment, Settings, block, churn, drop_most, look_on};
use crate::random::Random;
use crate::report::{Report, Work};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "server",
    about: "threads drop nearly everything and stay, idle or with a trickle of work",
    options: &["threads", "count", "live", "keep", "seconds", "trickle", "seed"],
    default: Settings { keep_percent: 1.0, ..DEFAULT },
    run,
};

/// Work comes in portions, a hundred of them in a second.
const PORTIONS_PER_SECOND: usize = 100;

fn run(settings: &Settings, report: &mut Report) -> io::Result<Work> {
    let staff = Staff::start(settings, |settings, thread, stages, work| {
        let mut random = Random::of_thread(settings.seed, thread);
        let (mut held, done) = churn(settings, &mut random);
        *work += done;
        stages.next();
        stages.next();
        drop_most(&mut held, settings.keep_percent);
        stages.next();
        trickle(settings, &mut random, work);
        held
    });
    staff.next();
    report.phase("peak")?;
    staff.next();
    staff.next();
    report.phase("dropped")?;
    look_on(settings, report)?;
    Ok(staff.work())
}

/// Short-lived blocks for as long as the main thread looks on, the same number in every run.
fn trickle(settings: &Settings, random: &mut Random, work: &mut Work) {
    let start = Instant::now();
    let portions = settings.seconds * PORTIONS_PER_SECOND as u64;
    for portion in 0..if settings.trickle > 0 { portions } else { 0 } {
        let due = Duration::from_millis(portion * 1000 / PORTIONS_PER_SECOND as u64);
        thread::sleep(due.saturating_sub(start.elapsed()));
        for _ in 0..settings.trickle.div_ceil(PORTIONS_PER_SECOND) {
            drop(block(random, work));
        }
    }
}
