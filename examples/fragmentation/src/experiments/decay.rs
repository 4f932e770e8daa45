//! What is left at three moments: with everything live, right after all of it was dropped, and some seconds later. It is
//! what settings like jemalloc's `dirty_decay_ms` are about.

use super::{DEFAULT, Experiment, Settings, churn, joined, look_on};
use crate::random::Random;
use crate::report::{Report, Work};
use std::io;
use std::sync::Barrier;
use std::thread;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "decay",
    about: "memory while all is live, after the drop, and seconds later",
    options: &["threads", "count", "live", "seconds", "seed"],
    default: Settings { count: 500_000, live: 10_000, ..DEFAULT },
    run,
};

fn run(settings: &Settings, report: &mut Report) -> io::Result<Work> {
    let (full, seen) = (Barrier::new(settings.threads + 1), Barrier::new(settings.threads + 1));
    let mut work = Work::default();
    thread::scope(|scope| {
        let handles: Vec<_> = (0..settings.threads)
            .map(|thread| {
                let (full, seen) = (&full, &seen);
                scope.spawn(move || {
                    let (held, work) = churn(settings, &mut Random::of_thread(settings.seed, thread));
                    full.wait();
                    seen.wait();
                    drop(held);
                    work
                })
            })
            .collect();
        full.wait();
        let looked = report.phase("live");
        seen.wait();
        for handle in handles {
            work += joined(handle);
        }
        looked
    })?;
    report.phase("dropped")?;
    look_on(settings, report)?;
    Ok(work)
}
