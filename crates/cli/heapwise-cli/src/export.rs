//! `heapwise export`: a recording in the format of another tool.

use crate::args::ExportArgs;
use crate::{Failure, exit, report, result};
use anyhow::{Context, anyhow};
use heapwise_analysis::Analysis;
use heapwise_report::export::Options;
use std::io::{BufWriter, IsTerminal, Write};

/// Writes a recording in another format.
pub(crate) fn export(args: &ExportArgs) -> Result<u8, Failure> {
    check(args).map_err(|error| Failure::new(exit::USAGE, error))?;
    result::check(&args.destination, &[&args.recording])?;
    let analysis = report::load(&args.recording)?;
    // The formats have no place for warnings that all readers show.
    for warning in &analysis.warnings {
        heapwise_report::say!("heapwise: warning: {warning}");
    }
    if let Some(why) = args.to.missing(&analysis) {
        let file = args.recording.display();
        return Err(anyhow!("{file} has no {}: {why}", args.to.name()).into());
    }
    match &args.destination.output {
        Some(path) => {
            let name = || result::cannot_write(path);
            let mut file = result::create(path, &args.destination).with_context(name)?;
            write(args, &analysis, &mut file).with_context(name)?;
            file.finish().with_context(name)?;
        }
        // The formats escape names as they write them, and what is binary does not go to a terminal.
        None => write(args, &analysis, std::io::stdout().lock()).context("cannot write the export")?,
    }
    Ok(exit::SUCCESS)
}

/// Finds options that would have no effect, and output that would end up on the wrong device.
fn check(args: &ExportArgs) -> anyhow::Result<()> {
    let name = args.to.name();
    if args.measure.is_some() && !args.to.has_one_measure() {
        return Err(anyhow!("--measure cannot be used with --to {name}, which has all measures"));
    }
    if args.at.is_some() && !args.to.has_one_moment() {
        return Err(anyhow!(
            "--at cannot be used with --to {name}, which has both moments or needs --measure"
        ));
    }
    if args.destination.output.is_none() && args.to.is_binary() && std::io::stdout().is_terminal() {
        return Err(anyhow!("{name} is a binary format: name a file with -o, or redirect standard output"));
    }
    Ok(())
}

fn write(args: &ExportArgs, analysis: &Analysis, out: impl Write) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    args.to.write(analysis, &Options { measure: args.measure, moment: args.at }, &mut out)?;
    out.flush()
}
