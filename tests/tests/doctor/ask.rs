//! Starting subjects, asking the doctor, and what it answered.

pub(crate) use heapwise_report::schema::doctor::Checkup;
use heapwise_report::schema::doctor::SCHEMA;
use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::run::{self, Outcome, Running};
use heapwise_tests::tool;
use heapwise_tests::victim::Victim;
use libtest_mimic::Failed;
use std::path::{Path, PathBuf};

/// A subject, built of its source.
pub(crate) fn subject(name: &str) -> PathBuf {
    let mut all = Victim::all_in("victims/doctor");
    all.extend(Victim::all());
    let victim =
        all.iter().find(|victim| victim.name == name).unwrap_or_else(|| panic!("there is no {name}"));
    build(victim, FlagSet::Release)
}

pub(crate) fn doctor(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
    let mut command = run::command(tool::heapwise(), folder);
    run::finish(command.arg("doctor").args(arguments).envs(variables.iter().copied()), folder, "doctor")
}

pub(crate) fn checkup(
    folder: &Path,
    variables: &[(&str, &str)],
    arguments: &[&str],
) -> Result<Checkup, Failed> {
    let outcome = doctor(folder, variables, &[&["--format", "json"], arguments].concat());
    let checkup: Checkup = serde_json::from_slice(&outcome.stdout)
        .map_err(|error| format!("{error} in {}\n{}", outcome.text(), outcome.stderr))?;
    if checkup.schema != SCHEMA {
        return Err(format!("schema {}", checkup.schema).into());
    }
    if outcome.code() != if checkup.clean { 0 } else { 3 } {
        return Err(format!("exit code {} with {:#?}", outcome.code(), checkup.findings).into());
    }
    Ok(checkup)
}

/// Starts a program and waits until it says that it is ready.
pub(crate) fn started(
    folder: &Path,
    variables: &[(&str, &str)],
    program: &Path,
    arguments: &[&str],
) -> Running {
    let mut command = run::command(program, folder);
    let mut running = run::start(command.args(arguments).envs(variables.iter().copied()), folder, "subject");
    running.wait_for("ready");
    running
}

pub(crate) fn end(running: Running) {
    running.signal_group(libc::SIGKILL);
    running.wait(run::PATIENCE);
}

/// Looks at a process that runs.
pub(crate) fn of_process(folder: &Path, running: &Running) -> Result<Checkup, Failed> {
    checkup(folder, &[], &["--pid", &running.pid().to_string()])
}

pub(crate) fn has(checkup: &Checkup, check: &str, severity: &str) -> Result<(), Failed> {
    let found = checkup.findings.iter().find(|finding| finding.id == check && finding.severity == severity);
    let Some(found) = found else {
        return Err(format!("no {check} ({severity}) in {:#?}", checkup.findings).into());
    };
    match found.evidence.is_empty() || found.remedy.is_empty() || found.title.is_empty() {
        true => Err(format!("evidence or remedy is missing: {found:?}").into()),
        false => Ok(()),
    }
}

pub(crate) fn has_not(checkup: &Checkup, check: &str) -> Result<(), Failed> {
    match checkup.findings.iter().find(|finding| finding.id == check) {
        Some(alarm) => Err(format!("false alarm: {alarm:#?}").into()),
        None => Ok(()),
    }
}
