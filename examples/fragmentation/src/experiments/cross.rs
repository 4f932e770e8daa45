//! Who frees: the thread that has allocated a block, or another one, as it is where tasks move between threads.
//!
//! Both ways do the same number of allocations from the same sizes. With both options one follows the other in the same
//! process, as in many published comparisons; what the first leaves behind then counts for the second.

use super::{DEFAULT, Experiment, Held, Settings, block, joined, look_on};
use crate::random::Random;
use crate::report::{Report, Work};
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "cross",
    about: "blocks are freed by the thread that allocated them, or by another one",
    options: &["threads", "count", "live", "seconds", "seed", "same", "cross"],
    default: Settings { count: 600_000, live: 2_000, seconds: 0, ..DEFAULT },
    run,
};

/// Blocks on their way from one thread to another. They are live, so they count as memory in use.
const ON_THE_WAY: usize = 256;

fn run(settings: &Settings, report: &mut Report) -> io::Result<Work> {
    let mut work = Work::default();
    // Without a choice it is the kinder one.
    if settings.same || !settings.cross {
        work += round(settings, report, false)?;
        report.phase("same, threads ended")?;
        look_on(settings, report)?;
    }
    if settings.cross {
        work += round(settings, report, true)?;
        report.phase("cross, threads ended")?;
        look_on(settings, report)?;
    }
    Ok(work)
}

fn round(settings: &Settings, report: &mut Report, cross: bool) -> io::Result<Work> {
    let mut work = Work::default();
    thread::scope(|scope| {
        let handles: Vec<_> = (0..settings.threads)
            .map(|thread| {
                let elsewhere = cross.then(|| {
                    let (sender, receiver) = sync_channel::<Vec<u8>>(ON_THE_WAY);
                    scope.spawn(move || receiver.into_iter().for_each(drop));
                    sender
                });
                scope.spawn(move || allocate(settings, thread, elsewhere))
            })
            .collect();
        for handle in handles {
            work += joined(handle);
        }
    });
    report.phase(if cross { "cross, all done" } else { "same, all done" })?;
    Ok(work)
}

/// Blocks take the places of others in turn; the old one goes where it is to be freed.
fn allocate(settings: &Settings, thread: usize, elsewhere: Option<SyncSender<Vec<u8>>>) -> Work {
    let mut work = Work::default();
    let mut random = Random::of_thread(settings.seed, thread);
    let mut held: Held = (0..settings.live).map(|_| None).collect();
    for at in 0..settings.count {
        let old = held[at % settings.live].replace(block(&mut random, &mut work));
        if let (Some(old), Some(elsewhere)) = (old, &elsewhere) {
            // The other end stays open as long as this one: it is read until all senders are gone.
            let _ = elsewhere.send(old);
        }
    }
    work
}
