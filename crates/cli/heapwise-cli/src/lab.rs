//! `heapwise lab`: experiments.

use crate::args::{Format, LabArgs};
use crate::lab_worker::WorkerFile;
use crate::progress::Progress;
use crate::{Failure, exit, result};
use anyhow::{Context, anyhow};
use heapwise_report::lab::{self, Written};
use heapwise_trial::lab::{EXPERIMENTS, Error, Experiment, Options, Outcome, experiment};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The largest size of an experiment that has sizes, in all of them: it takes minutes then, and not a quarter of an hour.
const SIZE_IN_ALL: u64 = 20_000;

/// Does an experiment or all of them, or lists them.
pub(crate) fn lab(args: &LabArgs) -> Result<u8, Failure> {
    result::check_page(args.form, &args.destination, &[], Path::new("lab.html"))?;
    let chosen: Vec<&dyn Experiment> = match &args.name {
        Some(name) => vec![found(name)?],
        None if args.all => EXPERIMENTS.to_vec(),
        None => {
            result::write_page(args.form, &args.destination, |style| match args.form.format {
                Format::Text => lab::list_text(style),
                Format::Json => lab::list_json(),
                Format::Markdown => lab::list_markdown(),
                Format::Html => lab::list_html(),
            })?;
            return Ok(exit::SUCCESS);
        }
    };
    let worker = WorkerFile::write()?;
    let options = Options {
        worker: worker.path(),
        heapwise: std::env::current_exe().context("cannot find out where heapwise itself is")?,
        quick: args.quick,
        size: args.size,
        scale: args.scale,
        candidates: Vec::new(),
        unavailable: Vec::new(),
        interrupted: interrupted()?,
        runs: args.runs,
        workloads: args.workloads.clone(),
        conditions: args.conditions.clone(),
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    for one in chosen {
        match outcome(one, &options, args) {
            // What was measured before is kept.
            Err(failure) if failure.code == exit::INTERRUPTED && !outcomes.is_empty() => break,
            outcome => outcomes.push(outcome?),
        }
        if outcomes.last().is_some_and(|outcome| outcome.is_interrupted) {
            break;
        }
    }
    let written = match &outcomes[..] {
        [one] if !args.all => Written::One(one),
        all => Written::All(all),
    };
    result::write_page(args.form, &args.destination, |style| match args.form.format {
        Format::Text => written.text(style),
        Format::Json => written.json(),
        Format::Markdown => written.markdown(),
        Format::Html => written.html(),
    })?;
    let is_interrupted = options.interrupted.load(Ordering::Relaxed);
    Ok(if is_interrupted { exit::INTERRUPTED } else { exit::SUCCESS })
}

fn found(name: &str) -> Result<&'static dyn Experiment, Failure> {
    experiment(name).ok_or_else(|| {
        let known: Vec<_> = EXPERIMENTS.iter().map(|e| e.name()).collect();
        Failure::new(exit::USAGE, anyhow!("unknown experiment {name}; there are: {}", known.join(", ")))
    })
}

fn outcome(one: &dyn Experiment, options: &Options, args: &LabArgs) -> Result<Outcome, Failure> {
    let mut options = options.clone();
    match one.with() {
        Some(usual) => candidates(&mut options, args.with.as_deref().unwrap_or(usual))?,
        None if args.with.is_some() => {
            let error = anyhow!("{} has no choice of allocators: leave --with out", one.name());
            return Err(Failure::new(exit::USAGE, error));
        }
        None if args.all => {
            (options.scale, options.size) = (None, Some(SIZE_IN_ALL).filter(|_| !args.quick));
        }
        None => {}
    }
    let progress = Progress::new();
    let outcome = one.run(&options, &mut |step| {
        progress.at_step(&format!("{}: {}", one.name(), step.what), step.done, step.total);
    });
    outcome.map_err(|error| {
        let code = match error {
            Error::Unknown { .. } | Error::Usage(_) => exit::USAGE,
            Error::Interrupted => exit::INTERRUPTED,
            _ => exit::UNEXPECTED,
        };
        Failure::new(code, error)
    })
}

/// Prepares the allocators of a list.
#[cfg(target_os = "linux")]
fn candidates(options: &mut Options, list: &str) -> Result<(), Failure> {
    let field = crate::compare::candidates::field(Some(list))?;
    (options.candidates, options.unavailable) = (field.candidates, field.unavailable);
    Ok(())
}

/// No experiment has a choice of them elsewhere.
#[cfg(not(target_os = "linux"))]
fn candidates(_: &mut Options, _: &str) -> Result<(), Failure> {
    Ok(())
}

/// Becomes true at the first interrupt. Elsewhere an interrupt ends everything.
fn interrupted() -> Result<Arc<AtomicBool>, Failure> {
    #[cfg(target_os = "linux")]
    return Ok(crate::interrupt::flag()?);
    #[cfg(not(target_os = "linux"))]
    return Ok(Arc::default());
}
