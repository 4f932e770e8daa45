//! One run in a separate process.
//!
//! A checking heap is given to a process when it starts, so each run is a process: the worker is started with the name of a
//! workload and its numbers. It does the work with a [`Stopwatch`] in its hand, looks at what heap it really had, and prints
//! an [`Answer`] as one line of JSON.

mod answer;
mod clock;
#[cfg(feature = "trials")]
mod error;
mod heap;
mod memory;
mod moment;
#[cfg(feature = "trials")]
mod run;
#[cfg(feature = "trials")]
mod start;
mod stopwatch;

pub use answer::{Answer, Phase};
#[cfg(feature = "trials")]
pub use error::WorkerError;
pub use heap::Heap;
pub use memory::Memory;
pub use moment::{Moment, Own};
#[cfg(feature = "trials")]
pub use run::run;
#[cfg(feature = "trials")]
pub use start::{answer_of, ask};
pub use stopwatch::Stopwatch;

use crate::lab::workloads;
use std::time::Duration;

/// A worker that has not answered by then is ended. The slowest heap that was ever seen takes a minute for what workers do.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Does what a worker's arguments say and returns the line to be printed.
///
/// # Errors
///
/// If there is no such workload, or it was given no number, as a sentence.
pub fn work(arguments: &[String]) -> Result<String, String> {
    let [workload, numbers @ ..] = arguments else { return Err("a workload and a number are needed".into()) };
    let numbers: Result<Vec<u64>, _> = numbers.iter().map(|number| number.parse()).collect();
    let numbers = numbers.map_err(|_| format!("{workload} takes numbers"))?;
    run_workload(workload, &numbers)
}

fn run_workload(workload: &str, numbers: &[u64]) -> Result<String, String> {
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
        allocations: watch.allocations,
        phases: watch.phases,
        measured: watch.measured,
        moments: watch.moments,
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
        let answer = Answer::of_line(&work(&["hash-map", "500"].map(str::to_owned)).unwrap()).unwrap();
        assert_eq!((answer.workload.as_str(), answer.n), ("hash-map", 500));
        let names: Vec<_> = answer.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["construct", "drop"]);
        assert!(answer.phases.iter().all(|phase| phase.wall_ns > 0));
    }

    #[test]
    fn nonsense_is_refused() {
        let refused =
            |words: &[&str]| work(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()).unwrap_err();
        assert!(refused(&["nothing", "1"]).contains("nothing"));
        assert!(refused(&["hash-map"]).contains("how much"));
        assert!(refused(&["hash-map", "many"]).contains("numbers"));
        assert!(refused(&[]).contains("workload"));
    }
}
