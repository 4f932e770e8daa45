//! Tests as jobs, one more at once than there are cores: each executable of tests is one.
//!
//! cargo runs the executables one after the other. Most wait for programs as often as they compute, and many end with one test
//! that is longer than all others.

use crate::cargo;
use crate::totals::Totals;
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Something that prints results of tests and fails if one of them does.
#[derive(Debug)]
pub(crate) struct Job {
    name: String,
    command: Command,
}

impl Job {
    pub(crate) fn new(name: String, command: Command) -> Self {
        Self { name, command }
    }

    /// Tests that cargo has to run itself.
    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        Self { name: format!("cargo {}", arguments.join(" ")), command: cargo::command(arguments) }
    }

    /// Where it stands in the order: what takes longest begins first, so that nothing is waited for in the end but short ones.
    fn place(&self) -> usize {
        let of_program = self.name.strip_prefix("tests/tests/");
        let place = |name: &str| LONGEST.iter().position(|long| name.starts_with(long));
        of_program.map_or(LONGEST.len() + 1, |name| place(name).unwrap_or(LONGEST.len()))
    }

    /// An executable of tests, from what cargo says about it: in the folder and with the variables that cargo runs it with.
    fn executable(artifact: &serde_json::Value) -> Option<Self> {
        if artifact["profile"]["test"] != true {
            return None;
        }
        let path = Path::new(artifact["executable"].as_str()?);
        let folder = Path::new(artifact["manifest_path"].as_str()?).parent()?;
        let source = Path::new(artifact["target"]["src_path"].as_str()?);
        let shown = |path: &Path| path.strip_prefix(cargo::root()).unwrap_or(path).display().to_string();
        let mut command = Command::new(path);
        command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
        Some(Self { name: format!("{} ({})", shown(source), shown(path)), command })
    }
}

/// Builds the tests of the workspace and returns their executables, those that take longest first.
///
/// # Errors
/// When they do not build.
pub(crate) fn executables() -> Result<Vec<Job>> {
    let arguments =
        [&["test"], cargo::WORKSPACE, &["--no-run", "--message-format", "json-render-diagnostics"]].concat();
    eprintln!("xtask: cargo {}", arguments.join(" "));
    let output = cargo::command(&arguments).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "the tests do not build");
    let mut jobs = from_messages(&String::from_utf8_lossy(&output.stdout))?;
    ensure!(!jobs.is_empty(), "cargo names no executable of tests");
    jobs.sort_by_key(Job::place);
    Ok(jobs)
}

/// The executables among cargo's messages, of which each line is one.
fn from_messages(messages: &str) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for line in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(line).context("cargo's messages are JSON")?;
        jobs.extend(Job::executable(&message));
    }
    Ok(jobs)
}

/// Tests of the whole program that take a minute and more, the longest first.
const LONGEST: [&str; 8] =
    ["wrapped.", "tune.", "findings.", "victims.", "contracts.", "exact_counts.", "escapes.", "accounting."];

/// How many tests of an executable run at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// Runs all jobs, whichever fail, and prints what each of them printed when it has ended.
///
/// # Errors
/// When one of them fails, or cannot be run.
pub(crate) fn run(jobs: Vec<Job>, screen: &mut (dyn Write + Send)) -> Result<Totals> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // One more than there are cores: tests wait for programs, for servers and for times to go by.
    let workers = cores + 1;
    let folder = cargo::target()?.join("test-output");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let done = Mutex::new(Done { totals: Totals::default(), failed: Vec::new(), screen });
    let work = || -> Result<()> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, mut job)) = next else { return Ok(()) };
            if std::env::var_os(THREADS).is_none() {
                job.command.env(THREADS, cores.to_string());
            }
            // Some tests build programs with allocators.
            heapwise_allocators::build_quickly(&mut job.command);
            let begin = Instant::now();
            let file = folder.join(format!("{}-{number}", std::process::id()));
            // One that cannot be run fails like another.
            let (succeeded, output) = output_of(&mut job, &file)
                .unwrap_or_else(|problem| (false, format!("xtask: {problem:#}\n").into_bytes()));
            let took = begin.elapsed();
            done.lock().unwrap_or_else(PoisonError::into_inner).add(job.name, took, succeeded, &output)?;
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    let Done { totals, failed, screen } = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Once more, where the output ends: thousands of lines above are of jobs that passed.
    for failure in &failed {
        writeln!(screen, "     Failed {}\n{}", failure.name, failure.end)?;
    }
    writeln!(screen, "xtask: {totals}")?;
    let names: Vec<_> = failed.into_iter().map(|failure| failure.name).collect();
    ensure!(names.is_empty(), "tests failed:\n  {}", names.join("\n  "));
    Ok(totals)
}

/// How many lines of a job that failed are shown again.
const SHOWN_AGAIN: usize = 30;

/// A job that failed.
struct Failure {
    name: String,
    /// The last lines that it printed.
    end: String,
}

/// What has come of the jobs that have ended.
struct Done<'a> {
    totals: Totals,
    failed: Vec<Failure>,
    screen: &'a mut (dyn Write + Send),
}

impl Done<'_> {
    /// Prints all of a job at once. Bytes, because a test may print what is no text.
    fn add(&mut self, name: String, took: Duration, succeeded: bool, output: &[u8]) -> Result<()> {
        writeln!(self.screen, "     Running {name}")?;
        self.screen.write_all(output)?;
        writeln!(self.screen, "xtask: {:.1} s for {name}", took.as_secs_f64())?;
        let text = String::from_utf8_lossy(output);
        let lines: Vec<_> = text.lines().collect();
        lines.iter().for_each(|line| self.totals.add(line));
        if !succeeded {
            let end = lines[lines.len().saturating_sub(SHOWN_AGAIN)..].join("\n");
            self.failed.push(Failure { name, end });
        }
        Ok(())
    }
}

/// Whether a job succeeded, and all that it printed. A file takes it: programs that outlive the test hold a pipe open.
fn output_of(job: &mut Job, file: &Path) -> Result<(bool, Vec<u8>)> {
    let write = || format!("cannot write {}", file.display());
    let output = File::create(file).with_context(write)?;
    job.command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    let status = job.command.status().with_context(|| format!("cannot run {}", job.name))?;
    let printed = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    std::fs::remove_file(file).with_context(write)?;
    Ok((status.success(), printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_of_tests_are_run_in_the_folder_of_their_package() {
        let root = cargo::root().display();
        let message = |is_test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{root}/tests/Cargo.toml","profile":{{"test":{is_test}}},
                "target":{{"src_path":"{root}/tests/tests/diff.rs"}},"executable":{executable}}}"#
            )
            .replace('\n', " ")
        };
        let path = format!("\"{root}/target/debug/deps/diff-1\"");
        let messages = [
            message(true, &path),
            message(false, &path),
            message(true, "null"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let jobs = from_messages(&messages.join("\n")).unwrap();
        let [job] = &jobs[..] else { panic!("{jobs:?}") };
        assert_eq!(job.name, "tests/tests/diff.rs (target/debug/deps/diff-1)");
        assert_eq!(job.command.get_current_dir(), Some(&*cargo::root().join("tests")));
        assert!(from_messages("error: no such thing").is_err());
    }

    #[test]
    fn what_takes_longest_begins_first() {
        let job =
            |name: &str| Job { name: format!("{name} (target/debug/deps/x-1)"), command: Command::new("x") };
        let mut jobs =
            ["xtask/src/lib.rs", "tests/tests/diff.rs", "tests/tests/findings.rs", "tests/tests/wrapped.rs"]
                .map(job);
        jobs.sort_by_key(Job::place);
        let names = jobs.map(|job| job.name.split(' ').next().unwrap_or_default().to_owned());
        let expected =
            ["tests/tests/wrapped.rs", "tests/tests/findings.rs", "tests/tests/diff.rs", "xtask/src/lib.rs"];
        assert_eq!(names, expected);
        let tests = cargo::root().join("tests/tests");
        assert!(
            LONGEST.iter().all(|name| tests.join(format!("{name}rs")).is_file()),
            "each of them is there"
        );
    }

    #[test]
    fn all_jobs_are_run_and_those_that_fail_are_named() {
        let job = |name: &str, script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            Job { name: name.to_owned(), command }
        };
        let passes = "echo 'test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured'";
        let fails = "echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured' >&2; exit 101";
        let mut screen = Vec::new();
        let totals = run(vec![job("a", passes), job("b", passes), job("c", passes)], &mut screen).unwrap();
        assert_eq!(totals.to_string(), "6 tests passed, 0 failed, 3 ignored, in 3 programs");
        let error = run(vec![job("d", fails), job("e", passes)], &mut screen).unwrap_err();
        assert_eq!(error.to_string(), "tests failed:\n  d");
        let missing = Job { name: "m".to_owned(), command: Command::new("/nonexistent/program") };
        let error = run(vec![missing, job("e", fails)], &mut screen).unwrap_err().to_string();
        let mut failed: Vec<_> = error.lines().skip(1).map(str::trim).collect();
        failed.sort_unstable();
        assert_eq!(failed, ["e", "m"]);
        let screen = String::from_utf8(screen).unwrap();
        let end = "     Failed d\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\nxtask: 3 tests passed";
        assert!(screen.contains(end), "{screen}");
        assert_eq!(screen.matches("test result: ok. 2 passed").count(), 4, "{screen}");
        assert!(screen.contains("     Running d\ntest result: FAILED. 1 passed"), "{screen}");
    }
}
