//! Running the programs of peers.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// What a command prints.
pub(super) fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} ended with {}: {}", output.status, said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last word of the first line that `program --version` prints.
pub(super) fn version(program: &Path) -> Result<String> {
    let text = printed(Command::new(program).arg("--version"))?;
    let line = text.lines().next().unwrap_or_default();
    Ok(line.split_whitespace().next_back().unwrap_or(line).trim_start_matches("valgrind-").to_owned())
}
