//! A command that is waited for, but not forever.

use super::PATIENCE;
use super::error::WorkerError;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often to look whether a worker has ended. It costs nothing that a worker would notice.
const LOOK: Duration = Duration::from_millis(2);

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
}
