//! `heapwise doctor`: what outside the code slows the heap.

mod configuration;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod recorded;

#[cfg(not(target_os = "linux"))]
#[path = "../unsupported/doctor.rs"]
mod unsupported;
#[cfg(not(target_os = "linux"))]
use unsupported::{probe, program};

use crate::args::{DoctorArgs, DoctorFormat};
use crate::executable::{self, Executable};
use crate::{Failure, exit, result};
use anyhow::{Context, anyhow};
use heapwise_environment::facts::{self, Origin, Variables};
use heapwise_environment::{Facts, Subject, examine};
use heapwise_report::doctor::{Checkup, Examined};
use std::ffi::OsString;

#[cfg(target_os = "linux")]
pub(crate) use probe::{PROBE, answer as answer_probe};
#[cfg(target_os = "linux")]
pub(crate) use recorded::{before, of_process as of_recorded, warn};

/// Examines what the command line names and reports what was found.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    let checkup = match (args.pid, args.command.as_slice()) {
        (Some(pid), _) => of_process(pid)?,
        (None, command @ [_, ..]) => of_command(command)?,
        (None, []) => {
            let survey = configuration::survey_here()?;
            if args.fix {
                return configuration::fix(&survey, args.yes);
            }
            configuration::with(of_machine(), survey)
        }
    };
    result::write(&args.destination, |style| match args.format {
        DoctorFormat::Text => checkup.text(style),
        DoctorFormat::Json => checkup.json(),
        DoctorFormat::Markdown => checkup.markdown(),
    })?;
    Ok(if checkup.is_clean() { exit::SUCCESS } else { exit::FOUND })
}

fn checkup(subject: Examined, facts: &Facts, unread: Vec<String>) -> Checkup {
    Checkup { subject, seen: facts.described(), findings: examine(facts), unread, ..Checkup::default() }
}

/// What every program would inherit that is started from here.
fn of_machine() -> Checkup {
    let facts = if cfg!(windows) {
        // Windows programs inherit only variables; whether heapwise itself has the debug heap shows how its parents start
        // programs.
        facts::own()
    } else {
        Facts { probes: probe::ask(None), ..facts::inherited(Subject::Machine, Variables::own()) }
    };
    checkup(Examined::Machine, &facts, Vec::new())
}

/// What a command would inherit.
fn of_command(command: &[OsString]) -> Result<Checkup, Failure> {
    let mut unread = Vec::new();
    let Some(found) = executable::of_command(&command[0]) else {
        let error = anyhow!("command not found: {}; give its path", command[0].to_string_lossy());
        return Err(Failure::new(exit::NO_SUCH_PROGRAM, error));
    };
    let facts = inherited(&found, &mut unread);
    let words = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(checkup(Examined::Command(words), &facts, unread))
}

/// The facts about a program that would be started from here.
fn inherited(found: &Result<Executable, String>, unread: &mut Vec<String>) -> Facts {
    let mut facts = facts::inherited(Subject::Command, Variables::own());
    match found {
        Ok(found) => program::add(found, &mut facts),
        Err(why) => unread.push(why.clone()),
    }
    // The probe is a program of glibc with the same variables; its answer is valid for no other kind of program.
    if facts.program.as_ref().is_none_or(program::takes_preloads) {
        let needed = facts.other_allocators().find(|library| library.origin == Origin::Needed);
        // A name is looked for by the loader in the system's folders; a path could lead anywhere.
        let needed = needed.and_then(|library| library.path.to_str()).filter(|name| !name.contains('/'));
        facts.probes = probe::ask(needed);
    }
    facts
}

/// What a running process has.
fn of_process(pid: u32) -> Result<Checkup, Failure> {
    let mut facts = facts::of_process(pid).map_err(|error| refused(pid, error))?;
    let mut unread = Vec::new();
    if let Err(why) = program::add_of_process(pid, &mut facts) {
        unread.push(why);
    }
    let name = facts.process.as_ref().map(|process| process.name.clone()).unwrap_or_default();
    let subject = Examined::Process { pid, name };
    Ok(checkup(subject, &facts, unread))
}

fn refused(pid: u32, error: std::io::Error) -> Failure {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "no such process".to_owned(),
        std::io::ErrorKind::PermissionDenied => {
            "it belongs to another user, or the system protects it; its user, or root, may do this".to_owned()
        }
        _ => error.to_string(),
    };
    let error = Err::<(), _>(anyhow!(hint)).with_context(|| format!("cannot examine process {pid}"));
    Failure::new(exit::UNEXPECTED, error.expect_err("it is an error"))
}
