//! The ways to run a program that are compared.

use anyhow::Result;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ways to run a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// The program alone.
    Native,
    /// `heapwise run`, with its report.
    Heapwise,
    /// `heaptrack` in its default mode, which interprets while it records.
    Heaptrack,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Heapwise => "heapwise",
            Self::Heaptrack => "heaptrack",
        }
    }
}

/// A way to run a program, and the program that does it.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) kind: Kind,
    program: PathBuf,
    version: String,
}

/// What can be compared on this machine. heaptrack may be missing, the others may not.
pub(crate) fn present(target: &Path) -> Result<Vec<Tool>> {
    let heapwise = target.join("release/heapwise");
    let version_of = |program: &Path| {
        let output = Command::new(program).arg("--version").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(version) = version_of(&heapwise) else {
        anyhow::bail!("{} does not run: cargo build --release -p heapwise-cli", heapwise.display());
    };
    let mut tools = vec![
        Tool { kind: Kind::Native, program: PathBuf::new(), version: "native".into() },
        Tool { kind: Kind::Heapwise, program: heapwise, version },
    ];
    match version_of(Path::new("heaptrack")) {
        Some(version) => tools.push(Tool { kind: Kind::Heaptrack, program: "heaptrack".into(), version }),
        None => eprintln!("bench: heaptrack is missing (apt-get install heaptrack): no comparison with it"),
    }
    Ok(tools)
}

impl Tool {
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The command line that runs `command` and leaves its files in `scratch`.
    pub(crate) fn command(&self, scratch: &Path, command: Vec<OsString>) -> Vec<OsString> {
        let before: Vec<OsString> = match self.kind {
            Kind::Native => Vec::new(),
            Kind::Heapwise => vec![
                self.program.clone().into(),
                "run".into(),
                "--force".into(),
                "-o".into(),
                scratch.join("recording.hw").into(),
                "--report-file".into(),
                report(scratch).into(),
                "--format".into(),
                "json".into(),
                "--".into(),
            ],
            Kind::Heaptrack => {
                vec![self.program.clone().into(), "-o".into(), scratch.join("recording").into()]
            }
        };
        before.into_iter().chain(command).collect()
    }

    /// The size of the recording. heaptrack names its file after the compressor that it finds.
    pub(crate) fn recording_bytes(&self, scratch: &Path) -> Option<u64> {
        Some(self.recording(scratch)?.1)
    }

    /// The recording and its size.
    pub(crate) fn recording(&self, scratch: &Path) -> Option<(PathBuf, u64)> {
        let names: &[&str] = match self.kind {
            Kind::Native => &[],
            Kind::Heapwise => &["recording.hw"],
            Kind::Heaptrack => &["recording.zst", "recording.gz"],
        };
        names.iter().map(|name| scratch.join(name)).find_map(|path| {
            let bytes = path.metadata().ok()?.len();
            Some((path, bytes))
        })
    }
}

/// Where heapwise's report is.
pub(crate) fn report(scratch: &Path) -> PathBuf {
    scratch.join("report.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(kind: Kind) -> Tool {
        Tool { kind, program: kind.name().into(), version: String::new() }
    }

    #[test]
    fn the_program_comes_last() {
        for kind in [Kind::Native, Kind::Heapwise, Kind::Heaptrack] {
            let command = tool(kind).command(Path::new("/s"), vec!["prog".into(), "-x".into()]);
            assert_eq!(command[command.len() - 2..], ["prog", "-x"], "{kind:?}");
        }
        assert_eq!(tool(Kind::Heaptrack).command(Path::new("/s"), vec!["prog".into()])[2], "/s/recording");
    }

    #[test]
    fn a_recording_is_found_by_the_name_that_the_tool_gives_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("recording.gz"), [0; 12]).unwrap();
        assert_eq!(tool(Kind::Heaptrack).recording_bytes(folder.path()), Some(12));
        assert_eq!(tool(Kind::Heapwise).recording_bytes(folder.path()), None);
    }
}
