//! Runs a command under `heapwise run`.

use crate::report::Report;
use crate::run::{self, Outcome, Running};
use crate::tool::heapwise;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A recording that is to be made in a folder.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    options: Vec<String>,
    variables: Vec<(String, String)>,
}

/// The result of a recording.
#[derive(Debug)]
pub struct Recorded {
    /// How heapwise ended, and its output together with the program's.
    pub outcome: Outcome,
    pub file: PathBuf,
    /// The report, or why there is none.
    pub report: Result<Report, String>,
}

impl Recording {
    /// A recording whose files will lie in `folder`.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), options: Vec::new(), variables: Vec::new() }
    }

    /// Adds options of `heapwise run`.
    #[must_use]
    pub fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|&o| o.to_owned()));
        self
    }

    /// Has every `n`-th stack compared with a full unwind.
    #[must_use]
    pub fn verify(self, n: u32) -> Self {
        self.with(&["--verify", &n.to_string()])
    }

    /// Sets an environment variable for heapwise and the program.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where the recording will be.
    pub fn file(&self) -> PathBuf {
        self.folder.join("recording.hw")
    }

    fn report_file(&self) -> PathBuf {
        self.folder.join("report.json")
    }

    /// The command line for recording `program`.
    pub fn command(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = run::command(heapwise(), &self.folder);
        command.args(["run", "--force", "--format", "json", "-o"]).arg(self.file());
        command.arg("--report-file").arg(self.report_file()).args(&self.options);
        command.arg("--").arg(program).args(arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The command line for recording a process that runs already.
    pub fn attach_command(&self, pid: i32) -> Command {
        let mut command = run::command(heapwise(), &self.folder);
        command.args(["attach", "--force", "--format", "json", "-o"]).arg(self.file());
        command.arg("--report-file").arg(self.report_file()).args(&self.options).arg(pid.to_string());
        command
    }

    /// Begins to record a process that runs already, and waits until it is recorded.
    ///
    /// # Panics
    /// If that does not happen.
    pub fn attach(&self, pid: i32) -> Running {
        let _ = std::fs::remove_file(self.report_file());
        let mut running = run::start(&mut self.attach_command(pid), &self.folder, "attached");
        running.wait_for_complaint("stood still");
        running
    }

    /// Begins to record a program.
    pub fn start(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Running {
        run::start(&mut self.command(program, arguments), &self.folder, "recorded")
    }

    /// Records a program to its end.
    pub fn record(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Recorded {
        self.record_command(&mut self.command(program, arguments))
    }

    /// Runs a command that [`Recording::command`] made and that was changed since.
    pub fn record_command(&self, command: &mut Command) -> Recorded {
        // The report of an earlier recording in the same folder must not be taken for this one's.
        let _ = std::fs::remove_file(self.report_file());
        self.wait(run::start(command, &self.folder, "recorded"))
    }

    /// Has another recording made of the heapwise that makes this one; returns that one, and the report on this one.
    ///
    /// # Panics
    /// If there is no report.
    pub fn record_inside(&self, around: &Self, program: impl AsRef<OsStr>) -> (Recorded, Report) {
        let command = self.command(program, &[]);
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let recorded = around.record(command.get_program(), &arguments);
        let report = Report::read(&self.report_file());
        let said = &recorded.outcome.stderr;
        let report = report.unwrap_or_else(|e| panic!("{e}\n--- heapwise said:\n{said}"));
        (recorded, report)
    }

    /// Waits for a recording that was started.
    pub fn wait(&self, running: Running) -> Recorded {
        let outcome = running.wait(run::PATIENCE);
        Recorded { outcome, file: self.file(), report: Report::read(&self.report_file()) }
    }
}

impl Recorded {
    /// What was requested below a function: calls of allocation functions, reallocations, and bytes of both.
    ///
    /// # Panics
    /// If there is no report.
    pub fn below(&self, function: &str) -> [u64; 3] {
        let report = self.report();
        let is_below =
            |site: &&_| report.stack(site).any(|frame| frame.function.as_deref() == Some(function));
        report.sites.iter().filter(is_below).fold([0; 3], |[allocations, reallocations, bytes], site| {
            [allocations + site.allocations, reallocations + site.reallocations, bytes + site.allocated_bytes]
        })
    }

    /// The report.
    ///
    /// # Panics
    /// If there is none; the message contains heapwise's output.
    pub fn report(&self) -> &Report {
        self.report.as_ref().unwrap_or_else(|e| panic!("{e}\n--- heapwise said:\n{}", self.outcome.stderr))
    }

    /// Allocations, reallocations and bytes of the code of the program itself, in Rust, and not of the C library beside it.
    pub fn of_program(&self, program: &Path) -> [u64; 3] {
        let report = self.report();
        let is_own = |module: &str| Path::new(module) == program;
        let sites = report.sites.iter().filter(|site| {
            let innermost = report.stack(site).next();
            // Rust's own threads have a block each from the system's allocator, whatever the global one is.
            let is_of_system = |name: &str| name.contains("alloc::System>");
            let mut functions = report.stack(site).filter_map(|frame| frame.function.as_deref());
            innermost.is_some_and(|frame| frame.module.as_deref().is_some_and(is_own))
                && !functions.any(is_of_system)
        });
        sites.fold([0; 3], |[allocations, reallocations, bytes], site| {
            [allocations + site.allocations, reallocations + site.reallocations, bytes + site.allocated_bytes]
        })
    }
}

/// The report on a recording in a file, as `heapwise report` prints it.
pub fn report_on(file: &Path, folder: &Path) -> (Outcome, Result<Report, String>) {
    let mut command = run::command(heapwise(), folder);
    command.arg("report").arg(file).args(["--format", "json"]);
    let outcome = run::finish(&mut command, folder, "report");
    let report = Report::parse(&outcome.text());
    (outcome, report)
}
