//! A recording gives the same reports on Windows as on Linux, byte by byte.

use super::{TARGET, quietly, wine};
use crate::{build, cargo};
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// What is compared, of each recording.
const COMMANDS: &[&[&str]] = &[
    &["report", "FILE", "--format", "json"],
    &["report", "FILE", "--format", "text", "--stacks"],
    &["report", "FILE", "--format", "markdown"],
    &["report", "FILE", "--format", "html"],
    &["diff", "FILE", "FILE", "--format", "json"],
    &["export", "FILE", "--to", "pprof"],
    &["export", "FILE", "--to", "folded"],
    &["export", "FILE", "--to", "dhat"],
    &["export", "FILE", "--to", "firefox"],
];

/// Compares what both programs write of the recordings that are checked in.
pub(super) fn compare(variables: &[(&'static str, OsString)]) -> Result<()> {
    let here = build::workspace()?.join("heapwise");
    let target = cargo::target()?;
    let there = target.join(TARGET).join("debug/heapwise.exe");
    let golden = cargo::root().join("crates/record/trace/tests/golden");
    let out = target.join("windows/out");
    let mut compared = 0;
    for file in std::fs::read_dir(&golden).with_context(|| format!("cannot read {}", golden.display()))? {
        let recording = file?.path();
        if recording.extension().is_none_or(|e| e != "hw") {
            continue;
        }
        for command in COMMANDS {
            let write = |program: &mut Command| -> Result<Vec<u8>> {
                let words = command
                    .iter()
                    .map(|word| if *word == "FILE" { recording.as_os_str() } else { word.as_ref() });
                quietly(program.args(words).args(["--force", "-o"]).arg(&out).current_dir(cargo::root()))?;
                std::fs::read(&out).with_context(|| format!("cannot read {}", out.display()))
            };
            let on_linux = write(&mut Command::new(&here))?;
            let on_windows =
                write(Command::new(wine::program()).arg(&there).envs(variables.iter().cloned()))?;
            let what = command.join(" ").replace("FILE", &name(&recording));
            ensure!(
                on_linux == on_windows,
                "`heapwise {what}` writes something else on Windows than on Linux"
            );
            compared += 1;
        }
    }
    ensure!(compared > 0, "there are no recordings to compare");
    println!("xtask: {compared} reports, comparisons and exports are the same on Windows as on Linux");
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
