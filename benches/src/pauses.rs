//! For how long a process with many threads stands still when it is attached to.

use crate::launcher::compile_workload;
use crate::series::Plan;
use crate::waiting::{Recorder, Waiting};
use anyhow::{Result, ensure};
use heapwise_trial::statistics::Spread;
use std::path::Path;
use std::process::Command;

/// Its name for `--only`.
pub(crate) const NAME: &str = "pauses";

/// Threads that allocate while the process is attached to.
const THREADS: usize = 64;
const TIMES: usize = 100;

/// Milliseconds, one for each time.
pub(crate) fn measure(plan: &Plan, folder: &Path) -> Result<Vec<f64>> {
    let recorder = Recorder::of(plan, folder);
    let program = compile_workload("busy_threads", "busy_threads", &[], folder)?;
    let mut program = Waiting::start(Command::new(program).arg(THREADS.to_string()))?;
    let mut pauses = Vec::new();
    for time in 0..if plan.quick { TIMES / 10 } else { TIMES } {
        let (mut recording, pause) = recorder.attach(&program, &["--duration", "20ms"])?;
        eprintln!("bench:   time {}: stood still for {pause:.1} ms", time + 1);
        pauses.push(pause);
        ensure!(recording.wait()?.success(), "heapwise attach has failed");
    }
    program.go_on()?;
    program.end()?;
    Ok(pauses)
}

/// The numbers as a sentence.
pub(crate) fn sentence(pauses: &[f64]) -> String {
    let Some(pause) = Spread::of(pauses.iter().copied()) else { return String::new() };
    format!(
        "A process with {THREADS} threads that allocate, attached to {} times, stood still for {:.1} ms (median), {:.1} ms (worst).\n",
        pauses.len(),
        pause.median,
        pause.high
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_pause_is_said() {
        let text = sentence(&[3.0, 9.0, 4.0]);
        assert!(
            text.contains("attached to 3 times, stood still for 4.0 ms (median), 9.0 ms (worst)"),
            "{text}"
        );
        assert_eq!(sentence(&[]), "");
    }
}
