//! `cargo heapwise test`: cargo runs the tests as always, and each test executable is recorded.

use crate::args::{Cargo, TestArgs};
use crate::bench::{count, escape};
use crate::cargo::{self, Places};
use crate::config::Config;
use crate::profile;
use crate::record::{add_lines, not_recorded};
use crate::runner::{self, Plan, To};
use crate::{Failure, program};
use anyhow::Context;
use heapwise_report::schema::report::Totals;
use serde::Deserialize;
use std::path::Path;

/// What is printed about a recording: fields of `heapwise.report/1`.
#[derive(Debug, Deserialize)]
struct Report {
    totals: Totals,
}

/// Runs the tests and ends as cargo does.
pub(crate) fn test(args: &TestArgs) -> Result<u8, Failure> {
    let heapwise = program::heapwise()?;
    let places = Places::of(&args.build)?;
    let folder = places.recordings();
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut words = Cargo::default();
    args.targets.all(&mut words);
    args.build.all(&mut words);
    words.flag("--doc", args.doc);
    let profile = match (&args.build.profile, args.release) {
        (Some(profile), _) => profile,
        (None, true) => "release",
        (None, false) => "test",
    };
    words.option("--profile", Some(profile));
    let config = Config::of_process();
    let mut command = cargo::command();
    command.arg("test").args(words.words());
    add_lines(&mut command, &profile::additions(&places.workspace_root, &config, profile), profile);
    let reports = tempfile::tempdir().context("cannot make a temporary folder")?;
    let to = To::Each { folder: folder.clone(), reports: reports.path().to_owned() };
    runner::prepare(
        &mut command,
        &args.build,
        &config,
        &Plan { heapwise, options: args.recording.words(), to },
    )?;
    command.args(&args.name).arg("--").args(&args.arguments);
    let status = cargo::run(&mut command)?;
    let is_recorded = print(reports.path(), &folder)?;
    if status.success() && !is_recorded && !args.doc {
        return Err(not_recorded());
    }
    Ok(cargo::code(status))
}

/// Prints a line for each recording, and says whether there was one.
fn print(reports: &Path, recordings: &Path) -> Result<bool, Failure> {
    let mut rows = Vec::new();
    let files = std::fs::read_dir(reports).context("cannot read the temporary folder")?;
    let mut names: Vec<_> = files.flatten().map(|file| file.path()).collect();
    names.sort();
    for path in &names {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(Report { totals }) = serde_json::from_slice(&text) else {
            heapwise_report::say!(
                "heapwise: warning: nothing is shown of {}: its report is damaged",
                escape(&stem)
            );
            continue;
        };
        rows.push([
            count(totals.requests()),
            count(totals.allocated_bytes),
            count(totals.peak_live_bytes),
            count(totals.live_at_exit_bytes),
            escape(&stem).into_owned(),
        ]);
    }
    if rows.is_empty() {
        return Ok(false);
    }
    rows.insert(0, ["requests", "bytes", "peak live", "at exit", "test executable"].map(str::to_owned));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    for [requests, bytes, peak, exit, name] in &rows {
        let [a, b, c, d] = widths;
        heapwise_report::say!("heapwise: {requests:>a$}  {bytes:>b$}  {peak:>c$}  {exit:>d$}  {name}");
    }
    heapwise_report::say!(
        "heapwise: recordings in {}; look at one with: heapwise report FILE",
        recordings.display()
    );
    Ok(true)
}
