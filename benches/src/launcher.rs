//! The launcher (`launcher/measure.rs`), and what it writes down about a program.

use anyhow::{Context, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What one program took.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct Measured {
    /// On the monotonic clock, the same for all processes.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Processor time of the program.
    pub(crate) cpu_us: u64,
    pub(crate) peak_rss_kib: u64,
    /// Processor time of the program and of all processes that it has started.
    pub(crate) tree_cpu_us: u64,
    pub(crate) code: i32,
}

impl Measured {
    pub(crate) fn wall_seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// Reads the line that the launcher has written.
    fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split_whitespace().map(|word| word.parse::<u64>().ok());
        let mut next = || numbers.next()?;
        let measured = Self {
            start_ns: next()?,
            end_ns: next()?,
            cpu_us: next()? + next()?,
            peak_rss_kib: next()?,
            tree_cpu_us: next()? + next()?,
            code: next()? as i32,
        };
        (numbers.next().is_none() && measured.end_ns >= measured.start_ns).then_some(measured)
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let line = std::fs::read_to_string(path)
            .with_context(|| format!("the launcher has not written {}", path.display()))?;
        Self::parse(&line).with_context(|| format!("{} is not what the launcher writes", path.display()))
    }
}

/// Compiles the launcher if its source is newer.
pub(crate) fn build(folder: &Path) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("launcher/measure.rs");
    let program = folder.join("measure");
    compile(&source, &program, &["-C", "target-feature=+crt-static"])?;
    Ok(program)
}

/// Compiles a file in `workloads/` to a program of this name in a folder.
pub(crate) fn compile_workload(source: &str, name: &str, options: &[&str], folder: &Path) -> Result<PathBuf> {
    let program = folder.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads").join(source).with_extension("rs");
    compile(&source, &program, options)?;
    Ok(program)
}

/// Compiles a program that consists of one file, unless it is there already.
pub(crate) fn compile(source: &Path, program: &Path, options: &[&str]) -> Result<()> {
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    if time(program).is_some_and(|built| time(source).is_some_and(|written| written < built)) {
        return Ok(());
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args(["-O", "--edition", "2021"])
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(program)
        .status()
        .context("cannot run rustc")?;
    anyhow::ensure!(status.success(), "{} does not compile", source.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_launcher_is_read() {
        let measured = Measured::parse("1000 3500000000 70 5 2048 170 15 3\n").unwrap();
        assert_eq!(measured.cpu_us, 75);
        assert_eq!(measured.tree_cpu_us, 185);
        assert_eq!((measured.peak_rss_kib, measured.code), (2048, 3));
        assert!((measured.wall_seconds() - 3.499_999).abs() < 1e-9);
    }

    #[test]
    fn half_a_line_is_not_taken_for_a_result() {
        for line in ["", "1 2 3", "5 4 0 0 0 0 0 0", "1 2 3 4 5 6 7 8 9", "1 2 3 4 x 6 7 8"] {
            assert_eq!(Measured::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_program_and_the_launcher_around_it_agree() {
        let folder = tempfile::tempdir().unwrap();
        let launcher = build(folder.path()).unwrap();
        let path = |name: &str| folder.path().join(name);
        let status = Command::new(&launcher)
            .args([path("outer"), path("log")])
            .arg(&launcher)
            .args([path("inner"), path("output")])
            .args(["sh", "-c", "echo answer; exit 7"])
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(7));
        let (outer, inner) =
            (Measured::read(&path("outer")).unwrap(), Measured::read(&path("inner")).unwrap());
        assert!(outer.start_ns < inner.start_ns && inner.end_ns <= outer.end_ns);
        assert!(inner.peak_rss_kib > 0);
        assert_eq!((outer.code, inner.code), (7, 7));
        assert_eq!(std::fs::read_to_string(path("output")).unwrap(), "answer\n");
    }
}
