//! `heapwise export`: a recording in the format of another tool.

#[cfg(target_os = "linux")]
mod predictions;
pub(crate) mod tables;

use crate::args::{ExportArgs, Target};
use crate::{Failure, exit, report, result};
use anyhow::{Context, anyhow};
use heapwise_analysis::Analysis;
use heapwise_report::export::{Format, Options};
use heapwise_tables::Labels;
use std::io::{BufWriter, IsTerminal, Write};

/// Writes a recording in another format.
pub(crate) fn export(args: &ExportArgs) -> Result<u8, Failure> {
    check(args).map_err(|error| Failure::new(exit::USAGE, error))?;
    match args.to {
        Target::File(format) => to_file(format, args)?,
        Target::Parquet => tables::export(args)?,
    }
    Ok(exit::SUCCESS)
}

/// The recording. The formats have no place for warnings that all readers show.
fn load(args: &ExportArgs) -> Result<Analysis, Failure> {
    let analysis = report::load(&args.recording)?;
    for warning in &analysis.warnings {
        heapwise_report::say!("heapwise: warning: {warning}");
    }
    Ok(analysis)
}

fn to_file(format: &dyn Format, args: &ExportArgs) -> Result<(), Failure> {
    result::check(&args.destination, &[&args.recording])?;
    let analysis = load(args)?;
    if let Some(why) = format.missing(&analysis) {
        let file = args.recording.display();
        return Err(anyhow!("{file} has no {}: {why}", format.name()).into());
    }
    let labels = Labels::new(&analysis, args.service.as_deref(), args.release.as_deref());
    let options = Options {
        measure: args.measure,
        moment: args.at,
        service: Some(labels.service),
        release: Some(labels.release),
        labels: Vec::new(),
    };
    match &args.destination.output {
        Some(path) => {
            let name = || result::cannot_write(path);
            let mut file = result::create(path, &args.destination).with_context(name)?;
            write(format, &analysis, &options, &mut file).with_context(name)?;
            file.finish().with_context(name)?;
        }
        // The formats escape names as they write them, and what is binary does not go to a terminal.
        None => {
            let out = std::io::stdout().lock();
            write(format, &analysis, &options, out).context("cannot write the export")?;
        }
    }
    Ok(())
}

/// Finds options that would have no effect, and output that would end up on the wrong device.
fn check(args: &ExportArgs) -> anyhow::Result<()> {
    let name = args.to.name();
    let (has_one_measure, has_one_moment, has_labels, is_binary) = match args.to {
        Target::File(format) => {
            (format.has_one_measure(), format.has_one_moment(), format.has_labels(), format.is_binary())
        }
        Target::Parquet => (false, false, true, true),
    };
    if args.measure.is_some() && !has_one_measure {
        return Err(anyhow!("--measure cannot be used with --to {name}, which has all measures"));
    }
    if args.at.is_some() && !has_one_moment {
        return Err(anyhow!(
            "--at cannot be used with --to {name}, which has both moments or needs --measure"
        ));
    }
    let is_parquet = matches!(args.to, Target::Parquet);
    for (option, is_given) in [("--service", args.service.is_some()), ("--release", args.release.is_some())] {
        if is_given && !has_labels {
            return Err(anyhow!("{option} is for --to parquet and --to otlp; {name} has no place for it"));
        }
    }
    if args.replay && !is_parquet {
        return Err(anyhow!("--replay is for --to parquet; {name} has no place for it"));
    }
    if is_parquet && args.destination.output.is_none() {
        return Err(anyhow!("parquet is a folder of tables: name it with -o FOLDER"));
    }
    if args.destination.output.is_none() && is_binary && std::io::stdout().is_terminal() {
        return Err(anyhow!("{name} is a binary format: name a file with -o, or redirect standard output"));
    }
    Ok(())
}

fn write(
    format: &dyn Format,
    analysis: &Analysis,
    options: &Options,
    out: impl Write,
) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    format.write(analysis, options, &mut out)?;
    out.flush()
}
