//! Threads fill their heaps, drop everything and end: the kindest case there is for an allocator that returns memory to the system
//! when all of an arena is free. With `--keep` a few blocks outlive their threads, and the same allocator gives nothing.

use super::{DEFAULT, Experiment, Settings, churn, drop_most, joined, look_on};
use crate::random::Random;
use crate::report::{Report, Work};
use std::io;
use std::sync::Barrier;
use std::thread;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "shootout",
    about: "threads allocate, hold blocks, drop them and end",
    options: &["threads", "count", "live", "keep", "seconds", "seed"],
    default: DEFAULT,
    run,
};

fn run(settings: &Settings, report: &mut Report) -> io::Result<Work> {
    // Two barriers: at the first all blocks are there, and none is dropped before memory was looked at. With one
    // the threads run on while it is looked at, and the peak is whatever they have left by then.
    let (full, seen) = (Barrier::new(settings.threads + 1), Barrier::new(settings.threads + 1));
    let mut work = Work::default();
    let mut kept = Vec::with_capacity(settings.threads);
    thread::scope(|scope| {
        let handles: Vec<_> = (0..settings.threads)
            .map(|thread| {
                let (full, seen) = (&full, &seen);
                scope.spawn(move || {
                    let (mut held, work) = churn(settings, &mut Random::of_thread(settings.seed, thread));
                    full.wait();
                    seen.wait();
                    drop_most(&mut held, settings.keep_percent);
                    // The list of slots itself goes as well, unless something is left in it.
                    (if settings.keep_percent > 0.0 { held } else { Vec::new() }, work)
                })
            })
            .collect();
        full.wait();
        let looked = report.phase("peak");
        seen.wait();
        for handle in handles {
            let (held, done) = joined(handle);
            kept.push(held);
            work += done;
        }
        looked
    })?;
    report.phase("dropped, threads ended")?;
    look_on(settings, report)?;
    drop(kept);
    Ok(work)
}
