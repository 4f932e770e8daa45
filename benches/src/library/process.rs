//! A program that waits for its turn.

use super::candidates::{Candidate, Recorded};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A started program that measures on request.
#[derive(Debug)]
pub(super) struct Process {
    name: &'static str,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    pub(super) fn start(
        candidate: &Candidate,
        programs: &Path,
        heapwise: &Path,
        scratch: &Path,
    ) -> Result<Self> {
        let name = candidate.name;
        let program = programs.join(candidate.program);
        let mut command = if candidate.recorded == Recorded::No {
            Command::new(&program)
        } else {
            let mut command = Command::new(heapwise);
            command.args(["run", "--no-report", "--force", "-o"]).arg(scratch.join(format!("{name}.hw")));
            if candidate.recorded == Recorded::ThroughPreload {
                command.args(["--recorder", "preload"]);
            }
            command.arg("--").arg(&program);
            command
        };
        if candidate.is_watched {
            command.arg("watched");
        }
        // heapwise's messages about the recording are not measured; an error ends the program and is noticed.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let requests = child.stdin.take().context("it has a standard input")?;
        let answers = BufReader::new(child.stdout.take().context("it has a standard output")?);
        Ok(Self { name, child, requests, answers })
    }

    /// Nanoseconds of processor time per call of a kernel.
    pub(super) fn ask(&mut self, kernel: &str, threads: usize, chunks: usize, calls: u64) -> Result<f64> {
        let name = self.name;
        writeln!(self.requests, "{kernel} {threads} {chunks} {calls}")
            .with_context(|| format!("{name} has ended"))?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).with_context(|| format!("{name} does not answer"))?;
        answer.trim().parse().with_context(|| format!("{name} answered {answer:?} to `{kernel} {threads}`"))
    }

    /// There are no more requests.
    pub(super) fn end(mut self) -> Result<()> {
        drop(self.requests);
        let status = self.child.wait().with_context(|| format!("cannot wait for {}", self.name))?;
        ensure!(status.success(), "{} ended with {status}", self.name);
        Ok(())
    }
}
