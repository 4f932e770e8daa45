//! What heapwise itself says of the variants: each is recorded once, in a run that is not timed.

use super::plan::Plan;
use super::prepare::prepare;
use super::{ByAllocator, Variant};
use crate::lab::experiment::Options;
use crate::lab::worker::PATIENCE;
use crate::rounds::Step;
use crate::supervise::output;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// What a variant does to the heap, and what following all findings about it saves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::lab) struct Recorded {
    pub(in crate::lab) allocations: u64,
    pub(in crate::lab) allocated_bytes: u64,
    pub(in crate::lab) peak_bytes: u64,
    pub(super) saved: Saved,
}

/// A sum of estimates. Reallocations are allocations here, as in what a variant does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Saved {
    pub(super) time_ns: f64,
    pub(super) allocations: f64,
    pub(super) allocated_bytes: f64,
}

/// The part of a report (`heapwise.report/1`) that is looked at.
#[derive(Debug, Deserialize)]
struct Report {
    totals: Totals,
    findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
struct Totals {
    allocations: u64,
    reallocations: u64,
    allocated_bytes: u64,
    peak_live_bytes: u64,
}

#[derive(Debug, Deserialize)]
struct Finding {
    estimate: Option<Estimate>,
}

#[derive(Debug, Deserialize)]
struct Estimate {
    time_ns: f64,
    allocations: f64,
    reallocations: f64,
    allocated_bytes: f64,
}

/// Records each variant, and says what could not be recorded.
pub(super) fn record(
    experiment: &ByAllocator,
    plan: &Plan,
    options: &Options,
    folder: &Path,
    progress: &mut dyn FnMut(&Step),
) -> (BTreeMap<usize, Recorded>, Vec<String>) {
    let (mut all, mut caveats) = (BTreeMap::new(), Vec::new());
    // The worker may be a file in memory, of which a recording cannot say the lines later.
    let worker = folder.join("heapwise-lab-worker");
    if let Err(error) = std::fs::copy(&options.worker, &worker) {
        return (all, vec![format!("nothing was recorded: cannot copy the worker: {error}")]);
    }
    for (at, variant) in experiment.variants.iter().enumerate() {
        let total = experiment.variants.len() as u64;
        progress(&Step { what: format!("{} recorded", variant.name), done: at as u64, total, left: None });
        let numbers = (variant.numbers)(&plan.sizes);
        let recorded = of_variant(&options.heapwise, &worker, variant, &numbers, folder);
        if options.are_over() {
            break;
        }
        match recorded {
            Ok(recorded) => _ = all.insert(at, recorded),
            Err(reason) => caveats.push(format!("{} was not recorded: {reason}", variant.name)),
        }
    }
    (all, caveats)
}

fn of_variant(
    heapwise: &Path,
    worker: &Path,
    variant: &Variant,
    numbers: &[u64],
    folder: &Path,
) -> Result<Recorded, String> {
    let recording = folder.join("recording.hw");
    let mut command = Command::new(heapwise);
    prepare(&mut command, Some(folder));
    command
        .args(["run", "--quiet", "--force", "--no-report", "--output"])
        .arg(&recording)
        .arg("--")
        .arg(worker);
    ended(command.arg(variant.workload).args(numbers.iter().map(u64::to_string)))?;
    let mut command = Command::new(heapwise);
    prepare(&mut command, Some(folder));
    let report = ended(command.args(["report", "--format", "json"]).arg(&recording))?;
    let report: Report =
        serde_json::from_slice(&report.stdout).map_err(|error| format!("its report is damaged: {error}"))?;
    Ok(report.into())
}

/// What a command of ours has printed.
fn ended(command: &mut Command) -> Result<Output, String> {
    let output = output(command, PATIENCE).map_err(|error| error.to_string())?;
    let output = output.ok_or("it took too long")?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().unwrap_or("it failed").escape_debug().to_string())
}

impl From<Report> for Recorded {
    fn from(Report { totals, findings }: Report) -> Self {
        let estimates = || findings.iter().filter_map(|finding| finding.estimate.as_ref());
        Self {
            allocations: totals.allocations + totals.reallocations,
            allocated_bytes: totals.allocated_bytes,
            peak_bytes: totals.peak_live_bytes,
            saved: Saved {
                time_ns: estimates().map(|saved| saved.time_ns).sum(),
                allocations: estimates().map(|saved| saved.allocations + saved.reallocations).sum(),
                allocated_bytes: estimates().map(|saved| saved.allocated_bytes).sum(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimates_of_all_findings_are_added() {
        let report = r#"{"totals":{"allocations":5,"reallocations":2,"allocated_bytes":90,"peak_live_bytes":7,"x":1},
            "findings":[{"estimate":{"time_ns":3,"allocations":1,"reallocations":5,"allocated_bytes":10,"peak_bytes":1}},{"estimate":null},
            {"title":"no estimate"},{"estimate":{"time_ns":4,"allocations":2,"reallocations":0,"allocated_bytes":20}}]}"#;
        let report: Report = serde_json::from_str(report).expect("a report");
        let saved = Saved { time_ns: 7.0, allocations: 8.0, allocated_bytes: 30.0 };
        let expected = Recorded { allocations: 7, allocated_bytes: 90, peak_bytes: 7, saved };
        assert_eq!(Recorded::from(report), expected);
    }

    #[test]
    fn a_command_that_fails_says_why_in_one_line() {
        let mut command = Command::new("sh");
        let reason = ended(command.args(["-c", "echo no such file >&2; echo more >&2; exit 3"])).unwrap_err();
        assert_eq!(reason, "no such file");
        assert!(ended(&mut Command::new("/nowhere/at/all")).is_err());
    }
}
