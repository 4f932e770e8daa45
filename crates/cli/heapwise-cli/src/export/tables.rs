//! `heapwise export --to parquet`: adds a recording to a folder of tables.

use super::load;
use crate::args::ExportArgs;
use crate::{Failure, report, result};
use anyhow::{Context, anyhow};
use heapwise_report::escape::file::{self, Existing};
use heapwise_report::units::bytes;
use heapwise_report::{note, say};
use heapwise_tables::{Labels, Recording, TableFile};
use heapwise_trace::file::Reader;
use std::io::{BufReader, Write};
use std::path::Path;

/// Writes one file for each table, below a folder that may hold those of other recordings.
pub(super) fn export(args: &ExportArgs) -> Result<(), Failure> {
    let Some(folder) = args.destination.output.as_deref() else { return Err(anyhow!("no folder").into()) };
    if folder.exists() && !folder.is_dir() {
        return Err(anyhow!("{} is no folder, and tables are several files", folder.display()).into());
    }
    if folder.is_dir() {
        // Before minutes of reading: whether a file can be made in it.
        let probe = folder.join(".writable");
        file::check(&probe, Existing::Replace).with_context(|| result::cannot_write(folder))?;
    }
    let analysis = load(args)?;
    let diagnosis = heapwise_diagnosis::diagnose(&analysis);
    let mut recording = Recording::new(&analysis);
    follow(&mut recording, args)?;
    let labels = Labels::new(&analysis, args.service.as_deref(), args.release.as_deref());
    let tables = recording.tables(&diagnosis, &labels).context("cannot make the tables")?;
    // Whoever finds a recording in its own table finds all other rows of it, so that one comes last.
    for table in tables.iter().rev() {
        let path = folder.join(&table.name);
        write(args, &path, table).with_context(|| result::cannot_write(&path))?;
    }
    let all: usize = tables.iter().map(|table| table.bytes.len()).sum();
    note!("heapwise: added to {} ({}); service {}", folder.display(), bytes(all as u64), labels.service);
    Ok(())
}

/// Reads the recording a second time, if it is a file.
fn follow(recording: &mut Recording<'_>, args: &ExportArgs) -> Result<(), Failure> {
    let file = report::open(&args.recording)?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        say!("heapwise: warning: {} cannot be read twice: site_samples is empty", args.recording.display());
        return Ok(());
    }
    let name = || format!("cannot read {}", args.recording.display());
    let reader = Reader::new(BufReader::with_capacity(1 << 20, &file)).with_context(name)?;
    Ok(recording.follow(reader, |_| {}).with_context(name)?)
}

fn write(args: &ExportArgs, path: &Path, table: &TableFile) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        make_folders(folder)?;
    }
    let mut file = result::create(path, &args.destination)?;
    file.write_all(&table.bytes)?;
    file.finish()
}

/// Folders that only their owner may look into, as the files in them.
fn make_folders(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
