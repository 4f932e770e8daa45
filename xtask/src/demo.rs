//! `cargo xtask demo`: a recording of the contest program, and heapwise's report about it.

use crate::cargo;
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

/// How much work is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Some hundred thousand allocations: at once.
    Small,
    /// Ten million allocations, as in the tables of the example.
    Full,
}

impl FromStr for Size {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "small" => Ok(Self::Small),
            "full" => Ok(Self::Full),
            _ => bail!("the size is small or full, not {text}"),
        }
    }
}

impl Size {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Small => &["v01", "--rounds", "5", "--entries", "2000"],
            Self::Full => &["v01"],
        }
    }
}

/// Builds, records and shows.
///
/// # Errors
/// When one of the steps fails.
pub fn run(size: Size) -> Result<()> {
    cargo::run(&["build", "--release", "-p", "heapwise-cli", "-p", "poetry-contest"])?;
    let target = cargo::target()?;
    let (heapwise, contest) = (target.join("release/heapwise"), target.join("release/poetry-contest"));
    // The first run generates the data. A recording should show the program and not that.
    eprintln!("xtask: the contest program alone:");
    start(Command::new(&contest).args(size.arguments()))?;

    let folder = target.join("demo");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let recording = folder.join("poetry-contest.v01.hw");
    eprintln!("xtask: and recorded:");
    let mut record = Command::new(&heapwise);
    record.args(["run", "--force", "-o"]).arg(&recording).arg("--").arg(&contest).args(size.arguments());
    start(&mut record)?;
    eprint!("{}", what_next(&heapwise, &contest, &recording));
    Ok(())
}

fn start(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let status = command.status().with_context(|| format!("cannot run {}", Path::new(&program).display()))?;
    ensure!(status.success(), "{} ended with {status}", Path::new(&program).display());
    Ok(())
}

fn what_next(heapwise: &Path, contest: &Path, recording: &Path) -> String {
    let (heapwise, contest, recording) = (heapwise.display(), contest.display(), recording.display());
    format!(
        "
The recording is {recording}. Look at it again:
  {heapwise} report {recording} --stacks          whole stacks
  {heapwise} report {recording} --format json     for machines
The next version of the program does what the diagnosis suggests. See whether that helped:
  {heapwise} run -- {contest} v02
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!("small".parse::<Size>().unwrap(), Size::Small);
        assert_eq!("full".parse::<Size>().unwrap(), Size::Full);
        assert!("huge".parse::<Size>().is_err());
    }
}
