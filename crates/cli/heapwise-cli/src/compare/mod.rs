//! `heapwise compare`: runs the program itself under one allocator after the other.

pub(crate) mod candidates;
mod hint;
pub(crate) mod refusal;

use crate::args::{CompareArgs, DriveArgs, Format};
use crate::progress::{Progress, rounded};
use crate::{Failure, exit, inherited, interrupt, nested, result};
use anyhow::anyhow;
use heapwise_trial::compare::{Error, Options, Program, Ready, Service};
use heapwise_trial::rounds::Step;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long a server may take to end after the request to stop.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Compares.
pub(crate) fn compare(args: &CompareArgs) -> Result<u8, Failure> {
    if args.runs == Some(0) {
        return Err(usage(
            "--runs 0 leaves nothing to compare; 5 is the least that can find small differences".into(),
        ));
    }
    let program = program(&args.command, &args.drive)?;
    result::check_page(args.form, &args.destination, &[], Path::new("compare.html"))?;
    refusal::check(&args.command[0])?;
    let field = candidates::field(args.with.as_deref())?;
    if field.candidates.len() < 2 && field.unavailable.is_empty() {
        return Err(usage(
            "--with names nothing but the baseline, which takes part anyway; name an allocator to compare with, such \
             as --with jemalloc,mimalloc"
                .into(),
        ));
    }
    let options = Options {
        runs: args.runs,
        timeout: args.drive.timeout,
        unavailable: field.unavailable,
        refuse: Some(refusal::of_file),
        out_of_reach: Some(refusal::out_of_reach),
        interrupted: interrupt::flag()?,
        ..Options::default()
    };
    nested::announce(&args.command[0], "measured");
    let was_asked_in_vain = args.with.is_some() && !options.unavailable.is_empty();
    let mut teller = Teller::new();
    let is_driven = program.service.is_some() || options.timeout.is_some();
    let mut hint = (!is_driven).then(|| hint::Hint::new(hint::PATIENCE, hint::say));
    let outcome = heapwise_trial::compare::run(&program, &field.candidates, &options, &mut |step| {
        if step.done > 0 {
            hint = None;
        }
        teller.tell(step);
    });
    drop((teller, hint));
    let comparison = outcome.map_err(failure)?;
    result::write_page(args.form, &args.destination, |style| match args.form.format {
        Format::Text => heapwise_report::compare::text(&comparison, style),
        Format::Json => heapwise_report::compare::json(&comparison),
        Format::Markdown => heapwise_report::compare::markdown(&comparison),
        Format::Html => heapwise_report::compare::html(&comparison),
    })?;
    if comparison.is_interrupted {
        return Ok(exit::INTERRUPTED);
    }
    let is_clean = !comparison.has_findings() && !was_asked_in_vain;
    Ok(if is_clean { exit::SUCCESS } else { exit::FOUND })
}

fn usage(message: String) -> Failure {
    Failure::new(exit::USAGE, anyhow!(message))
}

/// What the command line says about the program.
pub(crate) fn program(command: &[OsString], drive: &DriveArgs) -> Result<Program, Failure> {
    let is_server = drive.ready.is_some() || drive.load.is_some();
    if drive.settle.is_some() && !is_server {
        return Err(usage(
            "--settle is for a server that is idle after its work: name how to see that it is ready (--ready) and what drives it (--load); for a program that ends by itself, the memory at its end is reported without it"
                .into(),
        ));
    }
    let ready = drive.ready.as_deref().map(str::parse::<Ready>).transpose();
    let ready = ready.map_err(|error| usage(format!("--ready {error}")))?;
    let service = is_server.then(|| Service {
        ready,
        ready_limit: drive.ready_timeout,
        load: drive.load.clone(),
        settle: drive.settle,
        stop_limit: STOP_LIMIT,
    });
    let prepare = Some(inherited::forward_signals as fn(&mut _));
    Ok(Program { command: command.to_vec(), stdin: drive.stdin.clone(), service, prepare })
}

/// Reports progress.
pub(crate) struct Teller {
    progress: Progress,
    has_shown_the_time: bool,
}

impl Teller {
    pub(crate) fn new() -> Self {
        Self { progress: Progress::new(), has_shown_the_time: false }
    }

    pub(crate) fn tell(&mut self, step: &Step) {
        let left = step.left.map(|left| format!("about {}", rounded(left)));
        if let Some(left) = left.as_deref().filter(|_| !self.has_shown_the_time) {
            self.has_shown_the_time = true;
            let runs = step.total.saturating_sub(step.done);
            self.progress.say(&format!(
                "heapwise: {runs} more runs take {left}; Ctrl-C ends with the results until then"
            ));
        }
        let what = left.map_or_else(|| step.what.clone(), |left| format!("{}, {left} left", step.what));
        self.progress.at_step(&what, step.done, step.total);
    }
}

pub(crate) fn failure(error: Error) -> Failure {
    let code = match error {
        Error::NoSuchProgram { .. } => exit::NO_SUCH_PROGRAM,
        Error::NotExecutable { .. } => exit::NOT_EXECUTABLE,
        Error::Stdin { .. } | Error::Refused { .. } => exit::USAGE,
        Error::NoCandidate { .. } => exit::UNUSABLE,
        Error::Interrupted => exit::INTERRUPTED,
        _ => exit::UNEXPECTED,
    };
    Failure::new(code, error)
}
