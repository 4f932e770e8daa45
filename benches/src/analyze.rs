//! `bench analyze`: how long the analysis of a recording of a hundred million events takes, and how much memory, compared with
//! `heaptrack_print` on a recording of the same run.

use crate::launcher::{self, Measured};
use crate::tools::{self, Kind, Tool};
use crate::workloads::{self, Workload};
use anyhow::{Context, Result, ensure};
use heapwise_trial::rounds::Rounds;
use heapwise_trial::statistics::Spread;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a hundred million events may take.
const SECONDS: f64 = 5.0;
const PEAK_MIB: f64 = 512.0;
const KIB: f64 = 1024.0;

/// What is recorded once.
struct Source {
    /// Its name in the table.
    name: &'static str,
    workload: &'static str,
    /// With this size it has about a hundred million events.
    size: u64,
    /// What the workload is asked for besides.
    argument: Option<&'static str>,
    /// Whether heaptrack records it as well.
    is_compared: bool,
}

const SOURCES: [Source; 3] = [
    Source { name: "contest", workload: "contest", size: 250, argument: None, is_compared: true },
    Source {
        name: "events30m",
        workload: "events30m",
        size: 100_000_000,
        argument: None,
        is_compared: false,
    },
    Source {
        name: "events30m, 3 million live blocks",
        workload: "events30m",
        size: 100_000_000,
        argument: Some("4000000"),
        is_compared: false,
    },
];

/// What is to be measured.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) rounds: usize,
    /// A tenth of the sizes.
    pub(crate) quick: bool,
    pub(crate) target: &'a Path,
    pub(crate) folder: &'a Path,
}

/// A recording and how it is read.
struct Input {
    name: &'static str,
    tool: Kind,
    command: Vec<OsString>,
    recording_mib: f64,
    events: u64,
    seconds: Vec<f64>,
    peak_mib: Vec<f64>,
}

/// Records, then reads the recordings in turns. Returns a table.
pub(crate) fn measure(plan: &Plan<'_>, tools: &[Tool]) -> Result<String> {
    let launcher = launcher::build(plan.folder)?;
    let mut inputs = Vec::new();
    for source in &SOURCES {
        let workload = workloads::chosen(&[source.workload.to_owned()])?.remove(0);
        let is_read = |kind| kind == Kind::Heapwise || (source.is_compared && kind == Kind::Heaptrack);
        for tool in tools.iter().filter(|tool| is_read(tool.kind)) {
            inputs.push(record(plan, source, &workload, tool)?);
        }
    }
    for turn in Rounds::new(inputs.len(), plan.rounds as u32, 1).without_warm_up() {
        let input = &mut inputs[turn.who];
        let measured = read(plan.folder, &launcher, &input.command)?;
        eprintln!(
            "bench:   round {}: {} {}: {:.2} s",
            turn.round,
            input.name,
            input.tool.name(),
            measured.wall_seconds()
        );
        input.seconds.push(measured.wall_seconds());
        input.peak_mib.push(measured.peak_rss_kib as f64 / KIB);
    }
    // What heapwise has counted belongs to heaptrack's recording of the same workload, too.
    let events: Vec<(&str, u64)> = inputs.iter().map(|i| (i.name, i.events)).collect();
    for input in &mut inputs {
        input.events =
            events.iter().filter(|(name, _)| *name == input.name).map(|(_, n)| *n).max().unwrap_or(0);
    }
    Ok(table(&inputs))
}

fn record(plan: &Plan<'_>, source: &Source, workload: &Workload, tool: &Tool) -> Result<Input> {
    let size = if plan.quick { source.size / 10 } else { source.size };
    let argument = source.argument.unwrap_or_default();
    let scratch = plan.folder.join(format!("analyze-{}{argument}-{}", workload.name, tool.kind.name()));
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let prepared = workload.prepare(plan.target, plan.folder)?;
    let mut command = prepared.command(size);
    command.extend(source.argument.map(OsString::from));
    let line = tool.command(&scratch, command);
    eprintln!("bench: recording {} {size} {argument} with {}", workload.name, tool.kind.name());
    let status = Command::new(&line[0])
        .args(&line[1..])
        .envs(prepared.environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", tool.kind.name()))?;
    ensure!(status.success(), "{} under {} ended with {status}", workload.name, tool.kind.name());
    let (file, bytes) = tool.recording(&scratch).context("there is no recording")?;
    Ok(Input {
        name: source.name,
        tool: tool.kind,
        command: reader(tool, &file),
        recording_mib: bytes as f64 / KIB / KIB,
        events: match tool.kind {
            Kind::Heapwise => crate::run::events(&tools::report(&scratch))?.seen,
            _ => 0,
        },
        seconds: Vec::new(),
        peak_mib: Vec::new(),
    })
}

/// The command line that analyses a recording.
fn reader(tool: &Tool, file: &Path) -> Vec<OsString> {
    match tool.kind {
        Kind::Heaptrack => vec!["heaptrack_print".into(), file.into()],
        _ => vec![tool.program().into(), "report".into(), file.into(), "--format".into(), "json".into()],
    }
}

fn read(folder: &Path, launcher: &Path, command: &[OsString]) -> Result<Measured> {
    let (result, output): (PathBuf, PathBuf) = (folder.join("reading"), folder.join("reading-output"));
    let status = Command::new(launcher).arg(&result).arg(&output).args(command).stdin(Stdio::null()).status();
    let status = status.context("cannot run the launcher")?;
    ensure!(status.success(), "{} ended with {status}", command[0].display());
    let _ = std::fs::remove_file(output);
    Measured::read(&result)
}

fn table(inputs: &[Input]) -> String {
    let mut text = String::from(
        "| recording | read by | events, million | recording, MiB | analysis, s | s per 100 million events | peak RSS, MiB | at most 5 s and 512 MiB |\n\
         |---|---|---:|---:|---:|---:|---:|---|\n",
    );
    for input in inputs {
        let (Some(seconds), Some(peak)) =
            (Spread::of(input.seconds.iter().copied()), Spread::of(input.peak_mib.iter().copied()))
        else {
            continue;
        };
        let per_hundred = seconds.median * 1e8 / input.events.max(1) as f64;
        let verdict = match input.tool {
            Kind::Heapwise if per_hundred <= SECONDS && peak.median <= PEAK_MIB => "met",
            Kind::Heapwise => "**MISSED**",
            _ => "–",
        };
        text.push_str(&format!(
            "| {} | {} | {:.1} | {:.1} | {seconds:.2} | {per_hundred:.2} | {peak:.0} | {verdict} |\n",
            input.name,
            if input.tool == Kind::Heaptrack { "heaptrack_print" } else { "heapwise report" },
            input.events as f64 / 1e6,
            input.recording_mib,
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_decides_and_the_time_is_that_of_a_hundred_million_events() {
        let input = |seconds: &[f64], events| Input {
            name: "contest",
            tool: Kind::Heapwise,
            command: Vec::new(),
            recording_mib: 1.0,
            events,
            seconds: seconds.to_vec(),
            peak_mib: vec![100.0],
        };
        let text = table(&[input(&[2.0, 2.5, 30.0], 50_000_000), input(&[2.6], 50_000_000)]);
        let rows: Vec<_> = text.lines().skip(2).collect();
        assert!(rows[0].contains("| 5.00 | 100 (100..100) | met |"), "{text}");
        assert!(rows[1].contains("| 5.20 | 100 (100..100) | **MISSED** |"), "{text}");
    }
}
