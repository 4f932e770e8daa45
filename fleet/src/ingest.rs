//! `heapwise fleet ingest`: adds recordings to tables.
//!
//! `heapwise export` reads a recording and makes its tables, in a separate process: a recording that is damaged, hostile or too large
//! costs that one and no other. What is added here are files, the one in `recordings` last, so that a recording is there with all its
//! tables or not at all.

use crate::engine::{Left, Why};
use crate::failure::{Failure, UNREADABLE};
use crate::progress::Progress;
use crate::store::live::{Live, RECORDINGS, Range};
use crate::store::{Name, Place, Stem, plain};
use anyhow::{Context, Result, anyhow, bail};
use futures::StreamExt;
use heapwise_report::{note, say, units};
use heapwise_tables::TABLES;
use heapwise_tables::words::IngestArgs;
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutPayload};
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use tokio::process::Command;
use tokio::sync::RwLock;

pub(crate) async fn ingest(args: &IngestArgs, exporter: &Exporter) -> Result<u8, Failure> {
    let mut files = Vec::new();
    for path in &args.recordings {
        find(path, &mut files)?;
    }
    if files.is_empty() {
        return Err(
            anyhow!("there are no recordings: none of the folders has a file that ends in .hw").into()
        );
    }
    if !args.output.contains("://") {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&args.output);
        made.with_context(|| format!("cannot make {}", args.output))?;
    }
    let place = Place::open(&args.output)?;
    let mut how = How { replay: args.replay, ..How::default() };
    for (flag, value) in [("--service", &args.service), ("--release", &args.release)] {
        if let Some(value) = value {
            how.labels.push(format!("{flag}={value}").into());
        }
    }
    let added = add(&files, &place, &how, exporter).await?;
    for left in &added.unread {
        say!("heapwise: warning: {} is left out: {}", left.path, left.why);
    }
    let n = |n: usize| {
        if n == 1 { "1 recording".to_owned() } else { format!("{} recordings", units::count(n as u64)) }
    };
    let replayed = match args.replay {
        Some(_) => format!(", {} of them replayed", units::count(added.replayed as u64)),
        None => String::new(),
    };
    note!(
        "heapwise: {} added to {place} ({}){replayed}, {} were there already, {} could not be read",
        n(added.added),
        units::bytes(added.bytes),
        units::count(added.there as u64),
        units::count(added.unread.len() as u64)
    );
    Ok(if added.unread.is_empty() { 0 } else { UNREADABLE })
}

/// How recordings become tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    /// Words for `heapwise export`: the service and the release.
    labels: Vec<OsString>,
    /// One of so many is replayed with other allocators.
    replay: Option<u32>,
}

impl How {
    /// Whether a recording is replayed: by its id, so that it is the same ones every time, and any host may add them.
    fn replays(&self, name: &Name) -> bool {
        let digits = name.stem.as_str().get(..8);
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.replay.zip(number).is_some_and(|(every, number)| number % every == 0)
    }
}

/// What has become of recordings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Added {
    added: usize,
    replayed: usize,
    there: usize,
    bytes: u64,
    /// Those that could not be read.
    pub(crate) unread: Vec<Left>,
}

impl Added {
    pub(crate) fn is_nothing(&self) -> bool {
        self.added + self.there == 0
    }
}

/// Adds recordings, several at once. Those that cannot be read are in the result.
///
/// # Errors
/// If the fleet cannot be read or written.
pub(crate) async fn add(files: &[PathBuf], place: &Place, how: &How, exporter: &Exporter) -> Result<Added> {
    let live = Live::read(place, &Range::default()).await?;
    let mut there: HashSet<String> = live.state.recordings().into_iter().map(str::to_owned).collect();
    there.extend(live.names.iter().map(|name| name.stem.as_str().to_owned()));
    let shared = Shared { there: Mutex::new(there), machine: RwLock::new(()) };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let one = |file: &PathBuf| {
        let (file, shared) = (file.clone(), &shared);
        async move {
            let result = add_one(&file, place, how, exporter, shared).await;
            (file, result)
        }
    };
    let mut results = futures::stream::iter(files).map(one).buffer_unordered(cores);
    let mut added = Added::default();
    let progress = Progress::new("recordings", files.len() as u64);
    while let Some((file, result)) = results.next().await {
        progress.step();
        match result {
            Ok(None) => added.there += 1,
            Ok(Some(copied)) => {
                added.added += 1;
                added.replayed += usize::from(copied.is_replayed);
                added.bytes += copied.bytes;
            }
            Err(Problem::OfRecording(error)) => {
                let why = Why::Unread(format!("{error:#}"));
                added.unread.push(Left { path: file.display().to_string(), name: None, why });
            }
            Err(Problem::OfFleet(error)) => return Err(error),
        }
    }
    Ok(added)
}

enum Problem {
    /// Others may succeed.
    OfRecording(anyhow::Error),
    OfFleet(anyhow::Error),
}

/// What those share that add recordings at once.
struct Shared {
    /// The ids of what the fleet has.
    there: Mutex<HashSet<String>>,
    /// A replay, which measures times, has the machine to itself.
    machine: RwLock<()>,
}

/// What was written to a fleet.
struct Copied {
    bytes: u64,
    is_replayed: bool,
}

/// Returns what was added, or nothing if it is there already.
async fn add_one(
    file: &Path,
    place: &Place,
    how: &How,
    exporter: &Exporter,
    shared: &Shared,
) -> Result<Option<Copied>, Problem> {
    let stage = tempfile::Builder::new().prefix("heapwise-").tempdir().context("cannot make a folder");
    let stage = stage.map_err(Problem::OfFleet)?;
    {
        let _beside_others = shared.machine.read().await;
        exporter.export(file, stage.path(), &how.labels).await?;
    }
    let staged = Place::open(&stage.path().to_string_lossy()).map_err(Problem::OfFleet)?;
    let name = only_name(&staged).await.map_err(Problem::OfRecording)?;
    let is_new = shared
        .there
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .insert(name.stem.as_str().to_owned());
    if !is_new {
        return Ok(None);
    }
    if how.replays(&name) {
        let again =
            [&[OsString::from("--replay"), OsString::from("--force")], how.labels.as_slice()].concat();
        let _alone = shared.machine.write().await;
        match exporter.export(file, stage.path(), &again).await {
            Ok(()) => {}
            // It counts without.
            Err(Problem::OfRecording(error)) => {
                say!("heapwise: warning: {} is not replayed: {error:#}", file.display());
            }
            Err(error) => return Err(error),
        }
    }
    copy(&staged, place, &name).await.map(Some).map_err(Problem::OfFleet)
}

/// The name of the one recording in a folder that was just made.
async fn only_name(staged: &Place) -> Result<Name> {
    let found = crate::store::live::list(staged, RECORDINGS, &Range::default()).await?;
    let mut names = found.files.into_keys();
    match (names.next(), names.next()) {
        (Some(name), None) if matches!(name.stem, Stem::Recording(_)) => Ok(name),
        _ => bail!("`heapwise export` made no tables"),
    }
}

/// Copies all files of a recording, the one that makes it count last.
async fn copy(from: &Place, to: &Place, name: &Name) -> Result<Copied> {
    let mut copied = Copied { bytes: 0, is_replayed: false };
    let last = TABLES.iter().filter(|table| table.name == RECORDINGS);
    for table in TABLES.iter().filter(|table| table.name != RECORDINGS).chain(last) {
        let key = name.path(table.name)?;
        if !table.is_sparse || from.has(&key).await? {
            copied.bytes += copy_file(from, to, &key).await?;
            copied.is_replayed |= table.is_sparse;
        }
    }
    Ok(copied)
}

async fn copy_file(from: &Place, to: &Place, key: &Key) -> Result<u64> {
    let bytes = from.read(key, u64::MAX).await?;
    let n = bytes.len() as u64;
    let put = to.store().put(key, PutPayload::from(bytes)).await;
    put.map_err(plain).with_context(|| format!("cannot write {key} of {to}"))?;
    Ok(n)
}

/// Adds a file, or the recordings in a folder and in those below it. Links are not followed.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let what = || format!("cannot read {}", path.display());
    if !std::fs::metadata(path).with_context(what)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = std::fs::read_dir(path)
        .with_context(what)?
        .collect::<std::io::Result<Vec<_>>>()
        .with_context(what)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (kind, path) = (entry.file_type().with_context(what)?, entry.path());
        if kind.is_dir() {
            find(&path, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "hw") {
            files.push(path);
        }
    }
    Ok(())
}

/// The `heapwise` that makes tables of a recording.
#[derive(Debug)]
pub(crate) struct Exporter {
    program: PathBuf,
}

impl Exporter {
    /// The one that was named, or the one beside this program, or that of `PATH`.
    pub(crate) fn new(named: Option<PathBuf>) -> Self {
        let beside =
            || Some(std::env::current_exe().ok()?.with_file_name("heapwise")).filter(|path| path.is_file());
        Self { program: named.or_else(beside).unwrap_or_else(|| PathBuf::from("heapwise")) }
    }

    /// # Errors
    /// If it cannot be started, or cannot read the recording; then with what it says.
    async fn export(&self, recording: &Path, folder: &Path, labels: &[OsString]) -> Result<(), Problem> {
        let mut command = Command::new(&self.program);
        command
            .args(["export", "--quiet", "--to", "parquet", "-o"])
            .arg(folder)
            .args(labels)
            .arg("--")
            .arg(recording);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let run = || format!("cannot run {}", self.program.display());
        let started = command.spawn().with_context(run).map_err(Problem::OfFleet)?;
        let output = started.wait_with_output().await.with_context(run).map_err(Problem::OfFleet)?;
        let said = String::from_utf8_lossy(&output.stderr);
        for line in said.lines().filter(|line| line.contains(" warning: ")) {
            say!("{line}");
        }
        if output.status.success() {
            return Ok(());
        }
        let error = said.lines().find_map(|line| line.strip_prefix("heapwise: error: "));
        let ended = || format!("`heapwise export` ended with {}", output.status);
        Err(Problem::OfRecording(anyhow!(error.map_or_else(ended, str::to_owned))))
    }
}
