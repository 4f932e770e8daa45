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
    // Before minutes of reading.
    check(folder)?;
    let analysis = load(args)?;
    let labels = Labels::new(&analysis, args.service.as_deref(), args.release.as_deref());
    let predictions = if args.replay { Some(predictions(args, &analysis)?) } else { None };
    let addition = Addition {
        folder,
        recording: &args.recording,
        analysis: &analysis,
        labels: &labels,
        predictions,
        existing: Existing::of(args.destination.force),
        progress: Progress::new(),
    };
    let added = addition.write()?;
    note!("heapwise: added to {} ({}); service {}", folder.display(), bytes(added), labels.service);
    Ok(())
}

/// Finds out whether tables can be written to a folder.
pub(crate) fn check(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() && !folder.is_dir() {
        return Err(anyhow!(
            "{} is no folder, and tables are several files: name a folder",
            folder.display()
        ));
    }
    if folder.is_dir() {
        let probe = folder.join(".writable");
        file::check(&probe, Existing::Replace).with_context(|| result::cannot_write(folder))?;
    }
    Ok(())
}

/// A recording that is to be added to a folder of tables.
pub(crate) struct Addition<'a> {
    pub(crate) folder: &'a Path,
    /// Its file, for it is read a second time.
    pub(crate) recording: &'a Path,
    pub(crate) analysis: &'a Analysis,
    pub(crate) labels: &'a Labels,
    /// What other allocators would need, if that was found out.
    pub(crate) predictions: Option<Vec<Prediction>>,
    /// What becomes of rows of it that are there.
    pub(crate) existing: Existing,
    pub(crate) progress: Progress,
}

impl Addition<'_> {
    /// Writes its rows. Returns how many bytes the files have.
    pub(crate) fn write(self) -> anyhow::Result<u64> {
        let Self { folder, existing, .. } = self;
        let diagnosis = heapwise_diagnosis::diagnose(self.analysis);
        let mut recording = Recording::new(self.analysis);
        follow(&mut recording, self.recording, &self.progress)?;
        if let Some(predictions) = self.predictions {
            recording.predict(predictions);
        }
        let tables = recording.tables(&diagnosis, self.labels).context("cannot make the tables")?;
        let [whole, others @ ..] = tables.as_slice() else { return Err(anyhow!("there are no tables")) };
        if let Some(other) = elsewhere(folder, whole) {
            let why = "it has this recording already, under another service; remove it from all tables first";
            return Err(anyhow!("{}: {why}", other.display()));
        }
        if is_compacted(folder, whole)? {
            let why =
                "it has this recording already, in a file with others that `heapwise fleet compact` wrote";
            return Err(anyhow!("{}: {why}", folder.display()));
        }
        let path = folder.join(&whole.name);
        make_folders(&path)
            .and_then(|()| file::check(&path, existing))
            .with_context(|| result::cannot_write(&path))?;
        // Whoever finds a recording in its own table finds all other rows of it, so that one comes last. Without it, what is in the
        // others is left from an export that was broken off.
        let others = others.iter().map(|table| (table, Existing::Replace));
        for (table, existing) in others.chain([(whole, existing)]) {
            let path = folder.join(&table.name);
            write(&path, table, existing).with_context(|| result::cannot_write(&path))?;
        }
        Ok(tables.iter().map(|table| table.bytes.len() as u64).sum())
    }
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
fn follow(recording: &mut Recording<'_>, path: &Path, progress: &Progress) -> anyhow::Result<()> {
    // Opening a pipe would wait for someone to write to it.
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        say!("heapwise: warning: {} cannot be read twice: site_samples is empty", path.display());
        return Ok(());
    }
    let name = || format!("cannot read {}", path.display());
    let file = std::fs::File::open(path).with_context(name)?;
    let reader = Reader::new(BufReader::with_capacity(1 << 20, &file)).with_context(name)?;
    let total = file.metadata().map_or(0, |metadata| metadata.len());
    let at = |bytes| progress.at("following sites", bytes, total);
    recording.follow(reader, report::memory(), at).with_context(name)
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
