//! Programs that wait for a line, alone and recorded.

use crate::series::Plan;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// What records.
#[derive(Debug)]
pub(crate) struct Recorder {
    heapwise: PathBuf,
    /// The recording.
    scratch: PathBuf,
}

impl Recorder {
    /// The program that was built, with a recording in this folder.
    pub(crate) fn of(plan: &Plan, folder: &Path) -> Self {
        Self { heapwise: plan.target.join("release/heapwise"), scratch: folder.join("waiting.hw") }
    }

    /// Starts a program; its arguments follow.
    pub(crate) fn run(&self, program: &Path, options: &[&str]) -> Command {
        let mut command = self.command("run");
        command.args(options).arg("--").arg(program);
        command
    }

    fn command(&self, how: &str) -> Command {
        let mut command = Command::new(&self.heapwise);
        command.args([how, "--force", "--no-report", "-o"]).arg(&self.scratch);
        command
    }

    /// Attaches to a program. Returns what records it, and for how many milliseconds it stood still.
    pub(crate) fn attach(&self, program: &Waiting, options: &[&str]) -> Result<(Child, f64)> {
        let mut recording = self
            .command("attach")
            .args(options)
            .arg(program.child.id().to_string())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot attach")?;
        let mut said = String::new();
        let mut messages = BufReader::new(recording.stderr.take().context("no messages")?);
        let pause = loop {
            let before = said.len();
            ensure!(messages.read_line(&mut said)? > 0, "heapwise attach has failed: {said}");
            if let Some(pause) = stood_still(&said[before..]) {
                break pause;
            }
        };
        // Nothing more is of interest; but whoever writes it must not wait.
        std::thread::spawn(move || std::io::copy(&mut messages, &mut std::io::sink()));
        Ok((recording, pause))
    }
}

/// `... stood still for 3.4 ms; ...`, or `... stood still 2 times, for 3.4 ms at most ...`.
fn stood_still(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("stood still ")?.1.split_once("for ")?;
    rest.split_once(" ms")?.0.parse().ok()
}

/// The program, which waits for a line.
#[derive(Debug)]
pub(crate) struct Waiting {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Waiting {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().context("cannot start the program")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut waiting = Self { child, output };
        let line = waiting.line()?;
        ensure!(line == "ready\n", "the program printed {line:?}");
        Ok(waiting)
    }

    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line)
    }

    pub(crate) fn go_on(&mut self) -> Result<()> {
        // What the collector does first is over by then.
        std::thread::sleep(Duration::from_millis(200));
        Ok(self.child.stdin.take().context("no input")?.write_all(b"\n")?)
    }

    pub(crate) fn end(&mut self) -> Result<()> {
        let status = self.child.wait()?;
        ensure!(status.success(), "the program ended with {status}");
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.scratch);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_read_from_the_message() {
        let line = "heapwise: recording; its 64 threads stood still for 14.5 ms; Ctrl-C ends the recording";
        assert_eq!(stood_still(line), Some(14.5));
        let line = "heapwise: recording; its 4 threads stood still 2 times, for 3.5 ms at most and 5.1 ms together; Ctrl-C";
        assert_eq!(stood_still(line), Some(3.5));
        assert_eq!(stood_still("heapwise: recording"), None);
    }
}
