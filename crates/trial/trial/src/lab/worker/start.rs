//! Starting a worker and waiting for its answer, but not forever.

use super::Answer;
use crate::lab::conditions::Condition;
use crate::lab::experiment::Options;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A worker that has not answered by then is ended. The slowest heap that was ever seen takes a minute for what workers do.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// How often to look whether a worker has ended. It costs nothing that a worker would notice.
const LOOK: Duration = Duration::from_millis(2);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// It could not be started or waited for.
    #[error("the worker cannot be run: {0}")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("the worker had not ended after {} s", PATIENCE.as_secs())]
    TooSlow,
    /// It failed.
    #[error("the worker ended with {status}{}", said(.stderr))]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// What it printed is not what was asked for.
    #[error("the worker's answer cannot be used: {0}")]
    Answer(String),
}

fn said(stderr: &str) -> String {
    let line = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // A worker's libraries are other people's, and what they print may be anything.
    let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
    if line.is_empty() { line } else { format!(", and said: {line}") }
}

/// Has a worker do something under a condition.
///
/// # Errors
///
/// If it does not answer, or something else than was asked for.
pub fn ask(
    options: &Options,
    condition: &dyn Condition,
    workload: &str,
    numbers: &[u64],
) -> Result<Answer, WorkerError> {
    let mut command = Command::new(&options.program);
    command.args(&options.arguments).arg(super::COMMAND).arg(workload);
    command.args(numbers.iter().map(u64::to_string));
    condition.prepare(&mut command);
    let output = condition.run(&mut command)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(WorkerError::Failed { status: output.status, stderr });
    }
    let answer = Answer::of_line(&String::from_utf8_lossy(&output.stdout)).map_err(WorkerError::Answer)?;
    if answer.workload != workload || Some(&answer.n) != numbers.first() {
        return Err(WorkerError::Answer(format!("it did {} {}", answer.workload, answer.n)));
    }
    Ok(answer)
}

/// Runs a command to its end, or until [`PATIENCE`] is over.
///
/// # Errors
///
/// If it cannot be started or waited for, or takes too long.
pub fn run(command: &mut Command) -> Result<Output, WorkerError> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Both pipes are emptied all the time: a library that prints a lot would wait for a reader.
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let status = wait(&mut child, PATIENCE)?;
    let text = |reader: Option<JoinHandle<Vec<u8>>>| reader.and_then(|r| r.join().ok()).unwrap_or_default();
    Ok(Output { status, stdout: text(stdout), stderr: text(stderr) })
}

fn wait(child: &mut Child, patience: Duration) -> Result<ExitStatus, WorkerError> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Err(WorkerError::TooSlow);
        }
        std::thread::sleep(LOOK);
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What could be read before an error is all there is.
        let _ = stream.read_to_end(&mut text);
        text
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_hangs_is_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let began = Instant::now();
        assert!(matches!(wait(&mut child, Duration::from_millis(50)), Err(WorkerError::TooSlow)));
        assert!(began.elapsed() < Duration::from_secs(30));
        assert!(child.try_wait().unwrap().is_some(), "it was not ended");
    }

    #[test]
    fn both_streams_are_read_however_much_there_is() {
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 300000 /dev/zero >&2; echo answer; exit 3"]);
        let output = run(&mut command).unwrap();
        assert_eq!((output.stdout.as_slice(), output.stderr.len()), (b"answer\n".as_slice(), 300_000));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn what_a_failed_worker_said_is_told_without_its_escapes() {
        assert_eq!(said("first\n\x1b[31mbroken\x07\n\n"), ", and said: [31mbroken");
        assert_eq!(said(" \n"), "");
    }
}
