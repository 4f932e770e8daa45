//! `heapwise export --to parquet`: adds a recording to a folder of tables.

use super::load;
use crate::args::ExportArgs;
use crate::progress::Progress;
use crate::{Failure, report, result};
use anyhow::{Context, anyhow};
use heapwise_analysis::Analysis;
use heapwise_report::escape::file::{self, Existing};
use heapwise_report::units::bytes;
use heapwise_report::{note, say};
use heapwise_tables::{Labels, Prediction, Recording, TableFile};
use heapwise_trace::file::Reader;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Writes one file for each table, below a folder that may hold those of other recordings.
pub(super) fn export(args: &ExportArgs) -> Result<(), Failure> {
    let Some(folder) = args.destination.output.as_deref() else { return Err(anyhow!("no folder").into()) };
    if folder.exists() && !folder.is_dir() {
        return Err(anyhow!(
            "{} is no folder, and tables are several files: name a folder with -o",
            folder.display()
        )
        .into());
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
    if args.replay {
        recording.predict(predictions(args, &analysis)?);
    }
    let labels = Labels::new(&analysis, args.service.as_deref(), args.release.as_deref());
    let tables = recording.tables(&diagnosis, &labels).context("cannot make the tables")?;
    let [whole, others @ ..] = tables.as_slice() else { return Err(anyhow!("there are no tables").into()) };
    if let Some(other) = elsewhere(folder, whole) {
        let why = "it has this recording already, under another service; remove it from all tables first";
        return Err(anyhow!("{}: {why}", other.display()).into());
    }
    if is_compacted(folder, whole)? {
        let why = "it has this recording already, in a file with others that `heapwise fleet compact` wrote";
        return Err(anyhow!("{}: {why}", folder.display()).into());
    }
    let existing = Existing::of(args.destination.force);
    let path = folder.join(&whole.name);
    make_folders(&path)
        .and_then(|()| file::check(&path, existing))
        .with_context(|| result::cannot_write(&path))?;
    // Whoever finds a recording in its own table finds all other rows of it, so that one comes last. Without it, what is in the others is left
    // from an export that was broken off.
    for (table, existing) in others.iter().map(|table| (table, Existing::Replace)).chain([(whole, existing)])
    {
        let path = folder.join(&table.name);
        write(&path, table, existing).with_context(|| result::cannot_write(&path))?;
    }
    let all: usize = tables.iter().map(|table| table.bytes.len()).sum();
    note!("heapwise: added to {} ({}); service {}", folder.display(), bytes(all as u64), labels.service);
    Ok(())
}

#[cfg(target_os = "linux")]
fn predictions(args: &ExportArgs, analysis: &Analysis) -> Result<Vec<Prediction>, Failure> {
    super::predictions::of(&args.recording, analysis)
}

#[cfg(not(target_os = "linux"))]
fn predictions(_: &ExportArgs, _: &Analysis) -> Result<Vec<Prediction>, Failure> {
    Err(anyhow!("--replay works on Linux only").into())
}

/// The same recording of the same day under another service.
fn elsewhere(folder: &Path, table: &TableFile) -> Option<PathBuf> {
    let path = folder.join(&table.name);
    let (own, name) = (path.parent()?, path.file_name()?);
    let services = std::fs::read_dir(own.parent()?).ok()?;
    let others = services.filter_map(|entry| Some(entry.ok()?.path())).filter(|service| service != own);
    others.map(|service| service.join(name)).find(|path| path.exists())
}

/// Whether the recording is in a compacted file: the newest entry of the log names all that are. If it cannot be read, what the folder has
/// is not known.
fn is_compacted(folder: &Path, table: &TableFile) -> anyhow::Result<bool> {
    let Some(id) = Path::new(&table.name).file_stem().and_then(|id| id.to_str()) else { return Ok(false) };
    let log = folder.join(heapwise_tables::LOG);
    let Ok(entries) = std::fs::read_dir(&log) else { return Ok(false) };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let Some(newest) = names.filter_map(|name| heapwise_tables::log_entry(&name)).max() else {
        return Ok(false);
    };
    let path = log.join(heapwise_tables::log_name(newest));
    let read = || -> std::io::Result<String> {
        let mut text = String::new();
        std::fs::File::open(&path)?.take(heapwise_tables::MOST_LOG_BYTES).read_to_string(&mut text)?;
        Ok(text)
    };
    let text =
        read().with_context(|| format!("cannot read {}, which says what the folder has", path.display()))?;
    Ok(text.contains(&format!("\"{id}\"")))
}

/// Reads the recording a second time, if it is a file.
fn follow(recording: &mut Recording<'_>, args: &ExportArgs) -> Result<(), Failure> {
    // Opening a pipe would wait for someone to write to it.
    if !std::fs::metadata(&args.recording).is_ok_and(|metadata| metadata.is_file()) {
        say!("heapwise: warning: {} cannot be read twice: site_samples is empty", args.recording.display());
        return Ok(());
    }
    let name = || format!("cannot read {}", args.recording.display());
    let file = report::open(&args.recording)?;
    let reader = Reader::new(BufReader::with_capacity(1 << 20, &file)).with_context(name)?;
    let (progress, total) = (Progress::new(), file.metadata().map_or(0, |metadata| metadata.len()));
    let at = |bytes| progress.at("following sites", bytes, total);
    Ok(recording.follow(reader, report::memory(), at).with_context(name)?)
}

fn write(path: &Path, table: &TableFile, existing: Existing) -> std::io::Result<()> {
    make_folders(path)?;
    let mut file = file::Output::create(path, existing)?;
    file.write_all(&table.bytes)?;
    file.finish()
}

/// The folders of a file, which only their owner may look into, as the files in them.
fn make_folders(path: &Path) -> std::io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
