//! One measured run.

use crate::launcher::Measured;
use crate::tools::{self, Kind, Tool};
use crate::workloads::Prepared;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// One run of one program in one way.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) tool: Kind,
    /// The whole command, with the tool's own work before and after.
    pub(crate) whole: Measured,
    /// The program inside of it.
    pub(crate) program: Measured,
    pub(crate) recording_bytes: Option<u64>,
    pub(crate) events: Option<Events>,
}

/// What heapwise has counted.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Events {
    /// Allocations, reallocations and deallocations.
    pub(crate) seen: u64,
    pub(crate) lost: u64,
}

impl Run {
    /// Bytes of the recording per event in it.
    pub(crate) fn bytes_per_event(&self) -> Option<f64> {
        Some(self.recording_bytes? as f64 / self.events?.seen.max(1) as f64)
    }

    /// From the end of the program to the end of the command, by which time the report has been written.
    pub(crate) fn seconds_after_the_program(&self) -> f64 {
        self.whole.end_ns.saturating_sub(self.program.end_ns) as f64 / 1e9
    }
}

/// What is to be measured.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) launcher: &'a Path,
    /// Emptied before.
    pub(crate) scratch: &'a Path,
    /// Folders in it that the run needs.
    pub(crate) folders: &'a [&'a Path],
    /// What is measured as the program.
    pub(crate) inside: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

/// What a run took, and what the program printed.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) whole: Measured,
    pub(crate) program: Measured,
    pub(crate) output: String,
}

/// Runs a program, with a launcher around it and another one around the tool that `around` puts in front.
pub(crate) fn launch(start: Start<'_>, around: impl FnOnce(Vec<OsString>) -> Vec<OsString>) -> Result<Done> {
    let Start { launcher, scratch, folders, inside, environment } = start;
    // A file of the run before must not be taken for one of this run.
    let _ = std::fs::remove_dir_all(scratch);
    for folder in [&[scratch][..], folders].concat() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let path = |name: &str| scratch.join(name).into_os_string();
    let measured = |result: &str, output: &str, command: Vec<OsString>| {
        let launched = [launcher.as_os_str().to_owned(), path(result), path(output)];
        launched.into_iter().chain(command).collect::<Vec<_>>()
    };
    let name = inside.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let inner = measured("program", "output", inside);
    let outer = measured("whole", "log", around(inner));
    let messages = std::fs::File::create(path("messages"))?;
    let status = Command::new(&outer[0])
        .args(&outer[1..])
        .envs(environment)
        .stdin(Stdio::null())
        .stderr(messages)
        .status()
        .context("cannot run the launcher")?;
    if !status.success() {
        let messages = std::fs::read_to_string(path("messages")).unwrap_or_default();
        bail!("{name} ended with {status}\n{messages}");
    }
    let output = std::fs::read(scratch.join("output"))?;
    Ok(Done {
        whole: Measured::read(&scratch.join("whole"))?,
        program: Measured::read(&scratch.join("program"))?,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

/// Runs `command` by `tool` and returns what it took and what the program printed.
pub(crate) fn run(
    tool: &Tool,
    launcher: &Path,
    scratch: &Path,
    prepared: &Prepared,
    command: Vec<OsString>,
) -> Result<(Run, String)> {
    let environment = prepared.environment.iter().map(|(name, value)| (*name, OsString::from(value)));
    let start =
        Start { launcher, scratch, folders: &[], inside: command, environment: environment.collect() };
    let done = launch(start, |inner| tool.command(scratch, inner))
        .with_context(|| format!("under {}", tool.kind.name()))?;
    let run = Run {
        tool: tool.kind,
        whole: done.whole,
        program: done.program,
        recording_bytes: tool.recording_bytes(scratch),
        events: match tool.kind {
            Kind::Heapwise => Some(events(&tools::report(scratch))?),
            _ => None,
        },
    };
    Ok((run, done.output))
}

/// Reads the totals of a report.
pub(crate) fn events(path: &Path) -> Result<Events> {
    let text = std::fs::read(path).with_context(|| format!("heapwise has not written {}", path.display()))?;
    let report: serde_json::Value = serde_json::from_slice(&text)?;
    let total = |name: &str| {
        let number = report["totals"][name].as_u64();
        number.with_context(|| format!("totals.{name} is missing in the report"))
    };
    let seen = total("allocations")? + total("reallocations")? + total("deallocations")?;
    Ok(Events { seen, lost: total("lost_events")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_of_a_report_are_added_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let report = r#"{"totals":{"allocations":5,"reallocations":2,"deallocations":4,"lost_events":1}}"#;
        std::fs::write(&path, report).unwrap();
        assert_eq!(events(&path).unwrap(), Events { seen: 11, lost: 1 });
        std::fs::write(&path, r#"{"totals":{"allocations":5}}"#).unwrap();
        assert!(events(&path).unwrap_err().to_string().contains("totals.reallocations"));
    }
}
