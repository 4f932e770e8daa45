//! What a peer is: a tool that says where a program allocates, as its users run it by default.

use super::truth::Stack;
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where things are.
#[derive(Debug)]
pub(super) struct Place {
    /// cargo's folder, in which the project's own programs are.
    pub(super) target: PathBuf,
    /// What was installed for these measurements alone.
    pub(super) installed: PathBuf,
}

/// A program to be recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) name: &'static str,
    /// Its command line, with the size.
    pub(super) command: &'a [OsString],
    pub(super) is_python: bool,
}

impl Subject<'_> {
    pub(super) fn executable(&self) -> &Path {
        Path::new(&self.command[0])
    }
}

/// How a program is started with a tool.
#[derive(Debug)]
pub(super) struct Way {
    /// Words in front of what is measured as the program: tools that are a process beside it.
    pub(super) outside: Vec<OsString>,
    /// What is measured as the program. It may begin with the tool, or be another build of the program.
    pub(super) inside: Vec<OsString>,
    pub(super) environment: Vec<(&'static str, OsString)>,
}

impl Way {
    /// The program alone; the tool is loaded into it by variables, if at all.
    pub(super) fn plain(subject: &Subject<'_>) -> Self {
        Self { outside: Vec::new(), inside: subject.command.to_vec(), environment: Vec::new() }
    }
}

/// What a run has left: the tool's files lie in a folder of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left<'a> {
    pub(super) files: &'a Path,
    pub(super) subject: Subject<'a>,
}

impl Left<'_> {
    /// The one file whose name begins so. Some tools append a process id or the name of a compressor.
    pub(super) fn file(&self, begin: &str) -> Result<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(self.files)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(begin) {
                found.push(entry.path());
            }
        }
        match found.as_slice() {
            [one] => Ok(one.clone()),
            _ => anyhow::bail!("{} files begin with {begin}, where there should be one", found.len()),
        }
    }
}

/// How a user gets to see what was recorded.
#[derive(Debug)]
pub(super) enum Answer {
    /// The tool prints it when the program has ended.
    Printed,
    /// By a command that prints text.
    Command(Vec<OsString>),
    /// Only by a page in a browser.
    Page,
    /// There is nothing to see: the tool is a reference.
    None,
}

/// Which allocations are in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sees {
    All,
    Sample,
    Nothing,
}

/// What stands in the place of figures of a tool that is missing.
pub(super) fn not_here(why: &str) -> String {
    format!("not here: {why}")
}

/// A tool to compare with. Each is one file, and a line of the table in `mod.rs`.
pub(super) trait Peer: Sync {
    fn name(&self) -> &'static str;

    /// Its version.
    ///
    /// # Errors
    /// When it is not here, with the reason.
    fn version(&self, place: &Place) -> Result<String>;

    fn sees(&self) -> Sees {
        Sees::All
    }

    /// Why it cannot record a program, if so.
    fn cannot(&self, _subject: &Subject<'_>) -> Option<&'static str> {
        None
    }

    /// How to start a program so that all files come into `files`. A report that is printed goes to `report`.
    fn way(&self, place: &Place, subject: &Subject<'_>, files: &Path, report: &Path) -> Way;

    fn answer(&self, place: &Place, left: &Left<'_>) -> Result<Answer>;

    /// The stacks that it has recorded, with the calls that it counts for each: read from the format that it has for other
    /// programs.
    fn stacks(&self, place: &Place, left: &Left<'_>) -> Result<Vec<Stack>>;
}
