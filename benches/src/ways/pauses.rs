//! For how long a process with many threads stands still when it is attached to.

use super::program::{Recorder, Waiting};
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// Threads that allocate while the process is attached to.
pub(super) const THREADS: usize = 64;
const TIMES: usize = 100;

/// Milliseconds, one for each time.
pub(super) fn measure(recorder: &Recorder, program: &Path, quick: bool) -> Result<Vec<f64>> {
    let mut program = Waiting::start(Command::new(program).arg(THREADS.to_string()))?;
    let mut pauses = Vec::new();
    for _ in 0..if quick { TIMES / 10 } else { TIMES } {
        let (mut recording, pause) = recorder.attach(&program, &["--duration", "20ms"])?;
        pauses.push(pause);
        ensure!(recording.wait()?.success(), "heapwise attach has failed");
    }
    program.go_on()?;
    program.end()?;
    Ok(pauses)
}
