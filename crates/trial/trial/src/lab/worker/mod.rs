//! One run in a separate process.
//!
//! A checking heap is given to a process when it starts, so each run is a process: the program starts itself with the
//! command [`COMMAND`], the name of a workload and its numbers. The worker does the work with a [`Stopwatch`] in its hand,
//! looks at what heap it really had, and prints an [`Answer`] as one line of JSON.

mod answer;
mod error;
mod heap;
mod run;
mod start;
mod stopwatch;

pub use answer::{Answer, Phase};
pub use error::WorkerError;
pub use heap::Heap;
pub use run::run;
pub use start::ask;
pub use stopwatch::Stopwatch;

use crate::lab::workloads;
use std::time::Duration;

/// A worker that has not answered by then is ended. The slowest heap that was ever seen takes a minute for what workers do.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The command of the program that makes it a worker.
pub const COMMAND: &str = "lab-worker";

/// Does what a worker is for and returns the line to be printed.
///
/// # Errors
///
/// If there is no such workload, or it was given no number, as a sentence.
pub fn work(workload: &str, numbers: &[u64]) -> Result<String, String> {
    let Some(found) = workloads::workload(workload) else {
        return Err(format!("there is no workload called {workload}"));
    };
    let [n, ..] = numbers else { return Err(format!("{workload} needs to know how much to do")) };
    let mut watch = Stopwatch::new();
    let checksum = found.run(numbers, &mut watch);
    // Looked at afterwards: the probes leave blocks behind that would be handed out again.
    let heap = Heap::of_this_process();
    let answer = Answer {
        workload: workload.to_owned(),
        n: *n,
        checksum,
        phases: watch.phases,
        heap,
        protocol: answer::PROTOCOL,
    };
    Ok(answer.to_line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_says_what_it_did() {
        let answer = Answer::of_line(&work("hash-map", &[500]).unwrap()).unwrap();
        assert_eq!((answer.workload.as_str(), answer.n), ("hash-map", 500));
        let names: Vec<_> = answer.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["construct", "drop"]);
        assert!(answer.phases.iter().all(|phase| phase.wall_ns > 0));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(work("nothing", &[1]).unwrap_err().contains("nothing"));
        assert!(work("hash-map", &[]).is_err());
    }
}
