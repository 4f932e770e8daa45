//! The programs that are measured.

use crate::launcher::compile;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a workload is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The example of this workspace, in its first version.
    Contest,
    /// A file in `workloads/`, compiled with rustc.
    Rust(&'static str),
    /// The same, with the line tables that name inlined functions.
    RustWithLines(&'static str),
    /// A file in `workloads/`, run by Python with malloc as its only allocator.
    Python(&'static str),
}

/// A program to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    source: Source,
    /// The usual size, in the unit of the program.
    pub(crate) size: u64,
    /// Whether heaptrack runs it, too. It takes a hundred times as long as the program alone for the one that has
    /// thirty million events from thousands of stacks, and what that one is there for is the time until the report.
    pub(crate) is_compared: bool,
}

const ALL: [Workload; 8] = [
    Workload { name: "contest", source: Source::Contest, size: 50, is_compared: true },
    Workload { name: "hashmap", source: Source::Rust("hashmap.rs"), size: 1_000_000, is_compared: true },
    Workload { name: "mt", source: Source::Rust("mt.rs"), size: 2_000_000, is_compared: true },
    Workload { name: "xthread", source: Source::Rust("xthread.rs"), size: 2_000_000, is_compared: true },
    Workload { name: "storm", source: Source::Rust("storm.rs"), size: 15_000_000, is_compared: true },
    Workload {
        name: "async_wheel",
        source: Source::Rust("async_wheel.rs"),
        size: 1_000_000,
        is_compared: true,
    },
    Workload {
        name: "events30m",
        source: Source::Rust("events30m.rs"),
        size: 30_000_000,
        is_compared: false,
    },
    Workload {
        name: "python_json",
        source: Source::Python("json_load.py"),
        size: 100_000,
        is_compared: true,
    },
];

/// Programs whose blocks are known to the last one, with the functions that they come from: for `bench peers`.
pub(crate) const KNOWN: [Workload; 2] = [
    Workload { name: "known", source: Source::RustWithLines("known.rs"), size: 1_000_000, is_compared: true },
    Workload { name: "known_python", source: Source::Python("known.py"), size: 100_000, is_compared: true },
];

/// The workloads with these names, or all of them.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<Workload>> {
    for name in names {
        if !ALL.iter().any(|workload| workload.name == name) {
            let known: Vec<_> = ALL.iter().map(|workload| workload.name).collect();
            let known = known.join(", ");
            bail!(
                "there is no workload {name}, only {known}, {} and {}",
                crate::ways::NAME,
                crate::pauses::NAME
            );
        }
    }
    Ok(ALL.into_iter().filter(|w| names.is_empty() || names.iter().any(|name| name == w.name)).collect())
}

/// A workload that can be run.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) program: PathBuf,
    /// Arguments in front of the size.
    arguments: Vec<OsString>,
    pub(crate) environment: Vec<(&'static str, &'static str)>,
}

impl Prepared {
    /// The command line for a size.
    pub(crate) fn command(&self, size: u64) -> Vec<OsString> {
        let mut command = vec![self.program.clone().into_os_string()];
        command.extend(self.arguments.iter().cloned());
        command.push(size.to_string().into());
        command
    }
}

impl Workload {
    pub(crate) fn is_python(&self) -> bool {
        matches!(self.source, Source::Python(_))
    }

    /// Compiles what has to be compiled, into `folder`.
    pub(crate) fn prepare(&self, target: &Path, folder: &Path) -> Result<Prepared> {
        let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads").join(name);
        Ok(match self.source {
            Source::Contest => {
                let program = target.join("release/poetry-contest");
                anyhow::ensure!(
                    program.is_file(),
                    "{} is missing: cargo build --release -p poetry-contest",
                    program.display()
                );
                Prepared {
                    program,
                    arguments: vec!["v01".into(), "--rounds".into()],
                    environment: Vec::new(),
                }
            }
            Source::Rust(name) | Source::RustWithLines(name) => {
                let options: &[&str] = match self.source {
                    Source::RustWithLines(_) => &["-C", "debuginfo=line-tables-only"],
                    _ => &[],
                };
                let program = folder.join(self.name);
                compile(&file(name), &program, options)?;
                Prepared { program, arguments: Vec::new(), environment: Vec::new() }
            }
            Source::Python(name) => Prepared {
                program: python()?,
                arguments: vec![file(name).into()],
                // Python seeds its hashes at random, and every run has to do the same work.
                environment: vec![("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0")],
            },
        })
    }
}

/// The interpreter itself. What is called `python3` may be a script that looks for it.
pub(crate) fn python() -> Result<PathBuf> {
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .context("cannot run python3")?;
    anyhow::ensure!(output.status.success(), "python3 does not say where it is");
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_all_are_chosen() {
        assert_eq!(chosen(&[]).unwrap().len(), ALL.len());
        let some = chosen(&["storm".into(), "mt".into()]).unwrap();
        assert_eq!(some.iter().map(|w| w.name).collect::<Vec<_>>(), ["mt", "storm"]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = chosen(&["hash".into()]).unwrap_err().to_string();
        assert!(error.contains("no workload hash") && error.contains("events30m"), "{error}");
    }

    #[test]
    fn the_files_of_all_workloads_are_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
        for workload in ALL.into_iter().chain(KNOWN) {
            if let Source::Rust(name) | Source::RustWithLines(name) | Source::Python(name) = workload.source {
                assert!(folder.join(name).is_file(), "{name}");
            }
        }
    }
}
