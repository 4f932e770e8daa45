//! `heapwise lab`: experiments.

use crate::args::{DiffFormat, LabArgs};
use crate::lab_worker::WorkerFile;
use crate::progress::Progress;
use crate::{Failure, exit, result};
use anyhow::{Context, anyhow};
use heapwise_report::lab;
use heapwise_trial::lab::{EXPERIMENTS, Error, Options, experiment};

/// Does an experiment, or lists them.
pub(crate) fn lab(args: &LabArgs) -> Result<u8, Failure> {
    let out = &args.destination;
    let Some(name) = &args.name else {
        result::write(out, |style| match args.format {
            DiffFormat::Text => lab::list_text(style),
            DiffFormat::Json => lab::list_json(),
            DiffFormat::Markdown => lab::list_markdown(),
        })?;
        return Ok(exit::SUCCESS);
    };
    let Some(found) = experiment(name) else {
        let known: Vec<_> = EXPERIMENTS.iter().map(|e| e.name()).collect();
        let error = anyhow!("unknown experiment {name}; there are: {}", known.join(", "));
        return Err(Failure::new(exit::USAGE, error));
    };
    let worker = WorkerFile::write()?;
    let options = Options {
        worker: worker.path(),
        heapwise: std::env::current_exe().context("cannot find out where heapwise itself is")?,
        quick: args.quick,
        size: args.size,
        runs: args.runs,
        workloads: args.workloads.clone(),
        conditions: args.conditions.clone(),
    };
    let progress = Progress::new();
    let outcome = found.run(&options, &mut |step| progress.at_step(&step.what, step.done, step.total));
    drop(progress);
    let outcome = outcome.map_err(|error| {
        let code = match error {
            Error::Unknown { .. } | Error::Usage(_) => exit::USAGE,
            _ => exit::UNEXPECTED,
        };
        Failure::new(code, error)
    })?;
    result::write(out, |style| match args.format {
        DiffFormat::Text => lab::text(&outcome, style),
        DiffFormat::Json => lab::json(&outcome),
        DiffFormat::Markdown => lab::markdown(&outcome),
    })?;
    Ok(exit::SUCCESS)
}
