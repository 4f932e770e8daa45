//! Threads that stay until the process ends, as those of a service do.
//!
//! They are never joined: a thread that ends is an occasion for an allocator to tidy up, and whoever looks at the process
//! when it ends should see what a service would have. They go from stage to stage together with the main thread.

use super::Settings;
use crate::report::Work;
use std::hint::black_box;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread;

/// The threads, as the main thread sees them.
#[derive(Debug)]
pub(super) struct Staff {
    stages: Arc<Stages>,
    done: Receiver<Work>,
    threads: usize,
}

/// What all of them pass together: the end of each stage.
#[derive(Debug)]
pub(super) struct Stages(Barrier);

impl Stages {
    /// Waits until all are here.
    pub(super) fn next(&self) {
        self.0.wait();
    }
}

impl Staff {
    /// Starts the threads. What `job` returns stays alive with its thread.
    pub(super) fn start<T>(
        settings: &Settings,
        job: impl Fn(&Settings, usize, &Stages, &mut Work) -> T + Send + Copy + 'static,
    ) -> Self {
        let stages = Arc::new(Stages(Barrier::new(settings.threads + 1)));
        let (report, done) = channel();
        for thread in 0..settings.threads {
            let (stages, report, settings) = (Arc::clone(&stages), report.clone(), *settings);
            thread::spawn(move || {
                let mut work = Work::default();
                let kept = job(&settings, thread, &stages, &mut work);
                // The receiver is gone if the main thread could not look at the memory.
                let _ = report.send(work);
                loop {
                    thread::park();
                    black_box(&kept);
                }
            });
        }
        Self { stages, done, threads: settings.threads }
    }

    /// Waits until all are here.
    pub(super) fn next(&self) {
        self.stages.next();
    }

    /// What all of them have done, when they have done it.
    pub(super) fn work(&self) -> Work {
        let mut work = Work::default();
        for done in self.done.iter().take(self.threads) {
            work += done;
        }
        work
    }
}
