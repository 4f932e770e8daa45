//! A command that is waited for, but not forever.

use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How often to look whether a process has ended that has closed its outputs: it ends in the next moment.
const LOOK: Duration = Duration::from_micros(500);
/// Of what is printed, more is not kept.
const MOST_BYTES: u64 = 4 << 20;

/// Runs a command to its end, and until all that it started have closed its outputs. `None` if that takes longer: then it was
/// killed.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn output(command: &mut Command, patience: Duration) -> io::Result<Option<Output>> {
    let until = Instant::now() + patience;
    let left = || until.saturating_duration_since(Instant::now());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Both pipes are emptied all the time: a library that prints a lot would wait for a reader.
    let (stdout, stderr) = (child.stdout.take().map(collect), child.stderr.take().map(collect));
    let text = |of: Option<Receiver<Vec<u8>>>| of.and_then(|text| text.recv_timeout(left()).ok());
    let printed = text(stdout).zip(text(stderr));
    let status = loop {
        match child.try_wait()? {
            None if printed.is_some() && !left().is_zero() => std::thread::sleep(LOOK),
            status => break status,
        }
    };
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(status.zip(printed).map(|(status, (stdout, stderr))| Output { status, stdout, stderr }))
}

fn collect(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What could be read before an error is all there is. The rest is taken away, so that the process does not wait for room.
        let _ = stream.by_ref().take(MOST_BYTES).read_to_end(&mut text);
        let _ = io::copy(&mut stream, &mut io::sink());
        // The receiver is gone if it took too long.
        let _ = sender.send(text);
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_ended() {
        let began = Instant::now();
        let hangs = output(Command::new("sleep").arg("60"), Duration::from_millis(50));
        assert!(hangs.is_ok_and(|output| output.is_none()));
        // It has ended, and a process that it started keeps its output open.
        let mut leaves = Command::new("sh");
        leaves.args(["-c", "sleep 60 & echo $!"]);
        assert!(output(&mut leaves, Duration::from_millis(200)).is_ok_and(|output| output.is_none()));
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn both_streams_are_read_however_much_there_is() {
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 300000 /dev/zero >&2; echo answer; exit 3"]);
        let output = output(&mut command, Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!((output.stdout.as_slice(), output.stderr.len()), (b"answer\n".as_slice(), 300_000));
        assert_eq!(output.status.code(), Some(3));
        let mut command = Command::new("head");
        let much = super::output(command.args(["-c", "9000000", "/dev/zero"]), Duration::from_secs(60));
        assert_eq!(much.unwrap().unwrap().stdout.len() as u64, MOST_BYTES);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        assert!(output(&mut Command::new("/no/such/program"), Duration::from_secs(1)).is_err());
    }
}
