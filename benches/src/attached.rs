//! What `heapwise attach` costs: what it adds to a pair of an allocation and its free, beside the preload library on the same program in
//! the same round, and for how long a process with many threads stands still.
//!
//! The program times its pairs itself, since it waits until it is recorded.

use crate::launcher::compile;
use anyhow::{Context, Result, ensure};
use heapwise_trial::rounds::Rounds;
use heapwise_trial::statistics::Spread;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Its name for `--only`.
pub(crate) const NAME: &str = "attached";

const SEED: u64 = 17;
const PAIRS: u64 = 15_000_000;
/// Threads that allocate while the process is attached to.
const THREADS: usize = 64;
const TIMES: usize = 100;

/// Ways to have the pairs done, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Alone,
    Preloaded,
    Attached,
}

const WAYS: [Way; 3] = [Way::Alone, Way::Preloaded, Way::Attached];

#[derive(Debug, Default, Serialize)]
pub(crate) struct Measured {
    /// Nanoseconds that recording adds to a pair, of each round.
    preloaded: Vec<f64>,
    attached: Vec<f64>,
    /// Milliseconds for which the process with many threads stood still.
    pauses: Vec<f64>,
}

/// The program that waits, and heapwise.
#[derive(Debug)]
struct Bench<'a> {
    program: PathBuf,
    heapwise: &'a Path,
    scratch: PathBuf,
}

pub(crate) fn measure(rounds: usize, quick: bool, heapwise: &Path, folder: &Path) -> Result<Measured> {
    let program = folder.join(NAME);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/attached.rs");
    compile(&source, &program, &[])?;
    let bench = Bench { program, heapwise, scratch: folder.join("attached.hw") };
    let pairs = if quick { PAIRS / 10 } else { PAIRS };
    let mut all = vec![[0.0; WAYS.len()]; rounds];
    for turn in Rounds::new(WAYS.len(), rounds as u32, SEED) {
        let ns = bench.pairs(WAYS[turn.who], pairs)? / pairs as f64;
        if let Some(round) = (turn.round as usize).checked_sub(1) {
            eprintln!("bench:   round {}: {:?} {ns:.1} ns a pair", turn.round, WAYS[turn.who]);
            all[round][turn.who] = ns;
        }
    }
    let added = |way: usize| all.iter().map(|round| round[way] - round[0]).collect();
    let pauses = bench.pauses(if quick { TIMES / 10 } else { TIMES })?;
    let _ = std::fs::remove_file(&bench.scratch);
    Ok(Measured { preloaded: added(1), attached: added(2), pauses })
}

impl Bench<'_> {
    /// Nanoseconds that all pairs took.
    fn pairs(&self, way: Way, pairs: u64) -> Result<f64> {
        let mut command = match way {
            Way::Preloaded => self.record(&["run"]),
            Way::Alone | Way::Attached => Command::new(&self.program),
        };
        if way == Way::Preloaded {
            command.arg("--").arg(&self.program);
        }
        let mut program = Waiting::start(command.args(["pairs", &pairs.to_string()]))?;
        let recording = match way {
            Way::Attached => Some(self.attach(&program)?.0),
            Way::Alone | Way::Preloaded => None,
        };
        program.go_on()?;
        let line = program.line()?;
        program.end()?;
        if let Some(mut recording) = recording {
            ensure!(recording.wait()?.success(), "heapwise attach has failed");
        }
        let ns = line.split_whitespace().next().and_then(|ns| ns.parse().ok());
        ns.with_context(|| format!("the program printed {line:?}"))
    }

    fn pauses(&self, times: usize) -> Result<Vec<f64>> {
        let mut program =
            Waiting::start(Command::new(&self.program).args(["threads", &THREADS.to_string()]))?;
        let mut pauses = Vec::new();
        for _ in 0..times {
            let (mut recording, pause) = self.attach(&program)?;
            pauses.push(pause);
            ensure!(recording.wait()?.success(), "heapwise attach has failed");
        }
        program.go_on()?;
        program.end()?;
        Ok(pauses)
    }

    fn record(&self, how: &[&str]) -> Command {
        let mut command = Command::new(self.heapwise);
        command.args(how).args(["--force", "--no-report", "-o"]).arg(&self.scratch);
        command
    }

    /// Attaches to a program. Returns what records it, and for how many milliseconds it stood still. What waits for a line is recorded
    /// to its end, what does not for a moment.
    fn attach(&self, program: &Waiting) -> Result<(Child, f64)> {
        let mut command = self.record(&["attach"]);
        if program.is_busy {
            command.args(["--duration", "20ms"]);
        }
        let mut recording = command
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

/// `... stood still for 3.4 ms; ...`
fn stood_still(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("stood still for ")?;
    rest.split_once(" ms")?.0.parse().ok()
}

/// The program, which waits for a line.
#[derive(Debug)]
struct Waiting {
    child: Child,
    output: BufReader<ChildStdout>,
    /// Whether it does something meanwhile.
    is_busy: bool,
}

impl Waiting {
    fn start(command: &mut Command) -> Result<Self> {
        let is_busy = command.get_args().any(|argument| argument == "threads");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().context("cannot start the program")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut waiting = Self { child, output, is_busy };
        let line = waiting.line()?;
        ensure!(line == "ready\n", "the program printed {line:?}");
        Ok(waiting)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line)
    }

    fn go_on(&mut self) -> Result<()> {
        // What the collector does first is over by then.
        std::thread::sleep(Duration::from_millis(200));
        Ok(self.child.stdin.take().context("no input")?.write_all(b"\n")?)
    }

    fn end(&mut self) -> Result<()> {
        let status = self.child.wait()?;
        ensure!(status.success(), "the program ended with {status}");
        Ok(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The numbers as Markdown.
pub(crate) fn table(measured: &Measured) -> String {
    let mut text = String::from("| recorded | ns that heapwise adds to a pair |\n|---|---:|\n");
    let ways = [("by the preload library", &measured.preloaded), ("attached to", &measured.attached)];
    for (way, added) in ways {
        if let Some(added) = Spread::of(added.clone()) {
            let _ = writeln!(text, "| glibc, {way} | {added:.1} |");
        }
    }
    if let Some(pause) = Spread::of(measured.pauses.clone()) {
        let worst = measured.pauses.iter().copied().fold(0.0, f64::max);
        let _ = writeln!(
            text,
            "\nA process with {THREADS} threads that allocate, attached to {} times, stood still for {:.1} ms (median), {worst:.1} ms \
             (worst).",
            measured.pauses.len(),
            pause.median
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_read_from_the_message() {
        let line = "heapwise: recording; its 64 threads stood still for 14.5 ms; Ctrl-C ends the recording";
        assert_eq!(stood_still(line), Some(14.5));
        assert_eq!(stood_still("heapwise: recording"), None);
    }

    #[test]
    fn the_table_has_a_row_for_each_way_and_the_worst_pause() {
        let measured =
            Measured { preloaded: vec![20.0], attached: vec![24.0, 25.0, 30.0], pauses: vec![3.0, 9.0, 4.0] };
        let text = table(&measured);
        assert!(text.contains("| glibc, attached to | 25.0 (24.0..30.0) |"), "{text}");
        assert!(
            text.contains("attached to 3 times, stood still for 4.0 ms (median), 9.0 ms (worst)"),
            "{text}"
        );
    }
}
