//! The log: which recordings are in which compacted file.
//!
//! Each entry is the whole state, `_heapwise/log/NNNNNNNNNN.json`; the one with the highest number counts. To change the state is to
//! make the next entry, which fails if it is there already: then another change was faster, and this one has to be planned anew.

use super::{Name, Partition, Place, Stem, plain};
use anyhow::{Context, Result, ensure};
use chrono::{DateTime, TimeDelta, Utc};
use heapwise_tables::{LOG, MOST_LOG_BYTES, log_entry, log_name};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutOptions, PutPayload};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};

/// The version of an entry's form.
const VERSION: u32 = 1;
/// The state of a fleet: what was compacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The number of its entry; 0 before the first one.
    pub(crate) number: u64,
    pub(crate) files: Vec<Compacted>,
}

/// A file in each table, with the rows of many recordings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Compacted {
    #[serde(flatten)]
    pub(crate) partition: Partition,
    /// Its name, without `.parquet`.
    pub(crate) file: String,
    /// What it has the rows of.
    pub(crate) recordings: BTreeSet<String>,
    /// All its files together.
    pub(crate) bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    version: u32,
    compacted: Vec<Compacted>,
}

impl State {
    /// The newest one.
    ///
    /// # Errors
    /// If the log cannot be read, or is none of ours: then it is not known which files count.
    pub(crate) async fn read(place: &Place) -> Result<Self> {
        let Some(number) = newest(place).await? else { return Ok(Self::default()) };
        let path = path(number)?;
        let bytes = place.read(&path, MOST_LOG_BYTES).await?;
        let entry: Entry =
            serde_json::from_slice(&bytes).with_context(|| format!("{path} of {place} is damaged"))?;
        ensure!(
            entry.version == VERSION,
            "{path} of {place} was written by a newer heapwise: this one does not know which files count"
        );
        for file in &entry.compacted {
            ensure!(
                matches!(Stem::parse(&file.file), Some(Stem::Compacted(_)))
                    && super::name::is_date(&file.partition.date),
                "{path} of {place} is damaged: it names {}",
                file.file
            );
        }
        Ok(Self { number, files: entry.compacted })
    }

    /// Makes this state the newest one, if nothing has changed since `self.number`.
    ///
    /// # Errors
    /// If it cannot be written.
    ///
    /// Returns `false` if another one is there already.
    pub(crate) async fn commit(&mut self, place: &Place) -> Result<bool> {
        let path = path(self.number + 1)?;
        let entry = Entry { version: VERSION, compacted: self.files.clone() };
        let bytes = serde_json::to_vec(&entry).context("an entry of the log")?;
        let only_if_new = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match place.store().put_opts(&path, PutPayload::from(bytes), only_if_new).await {
            Ok(_) => {
                self.number += 1;
                Ok(true)
            }
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                Ok(false)
            }
            Err(error) => Err(plain(error)).with_context(|| format!("cannot write {path} of {place}")),
        }
    }

    /// Whether what is in a file is in compacted files now, and in no other.
    pub(crate) fn has_replaced(&self, name: &Name) -> bool {
        match &name.stem {
            Stem::Recording(id) => self.files.iter().any(|file| file.recordings.contains(id)),
            Stem::Compacted(stem) => self.files.iter().all(|file| file.file != *stem),
        }
    }

    /// The recordings that are in compacted files.
    pub(crate) fn recordings(&self) -> HashSet<&str> {
        self.files.iter().flat_map(|file| &file.recordings).map(String::as_str).collect()
    }
}

impl Compacted {
    pub(crate) fn name(&self) -> Name {
        Name { partition: self.partition.clone(), stem: Stem::Compacted(self.file.clone()) }
    }
}

/// The number of the newest entry.
///
/// # Errors
/// If the log cannot be listed.
pub(crate) async fn newest(place: &Place) -> Result<Option<u64>> {
    Ok(entries(place).await?.into_iter().map(|(number, _)| number).max())
}

/// Removes entries that are not read any more: old ones, and never the newest [`KEPT`], so that a change that began long ago cannot make an
/// entry with the number of one that is gone.
///
/// # Errors
/// If the log cannot be listed or an entry cannot be removed.
pub(crate) async fn forget_old(place: &Place) -> Result<()> {
    let mut entries = entries(place).await?;
    entries.sort_unstable();
    entries.truncate(entries.len().saturating_sub(KEPT));
    let oldest = Utc::now() - TimeDelta::days(1);
    for (number, _) in entries.into_iter().filter(|(_, written)| *written < oldest) {
        let path = path(number)?;
        match place.store().delete(&path).await {
            // Another compaction removed it.
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => {
                return Err(plain(error)).with_context(|| format!("cannot remove {path} of {place}"));
            }
        }
    }
    Ok(())
}

/// Entries that stay, however old they are.
const KEPT: usize = 100;

/// The numbers of all entries, and when each was written.
async fn entries(place: &Place) -> Result<Vec<(u64, DateTime<Utc>)>> {
    let found = place.list(&Path::parse(LOG)?).await?;
    let number = |path: &Path| log_entry(path.filename()?);
    Ok(found.iter().filter_map(|file| Some((number(&file.location)?, file.last_modified))).collect())
}

fn path(number: u64) -> Result<Path> {
    Ok(Path::parse(format!("{LOG}/{}", log_name(number)))?)
}

/// Whether two writers cannot make the same file: some stores take no notice of the condition.
///
/// # Errors
/// If they can, or the store cannot be written to.
pub(crate) async fn check(place: &Place) -> Result<()> {
    let path = Path::parse(format!("_heapwise/probe-{}", Stem::new_compacted().as_str()))?;
    let make = async || {
        let only_if_new = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        place.store().put_opts(&path, PutPayload::from_static(b"probe"), only_if_new).await
    };
    make().await.map_err(plain).with_context(|| format!("cannot write to {place}"))?;
    let again = make().await;
    let _ = place.store().delete(&path).await;
    ensure!(
        matches!(
            again,
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. })
        ),
        "{place} lets two writers make the same file, so that compactions at the same time could lose recordings"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    fn place(folder: &std::path::Path) -> Place {
        Place::open(folder.to_str().expect("text")).expect("a folder")
    }

    fn compacted(digit: char) -> Compacted {
        let id = |digit: char| digit.to_string().repeat(32);
        let partition = Partition { date: "2026-11-26".to_owned(), service: "api".to_owned() };
        Compacted {
            partition,
            file: format!("c{}", id(digit)),
            recordings: BTreeSet::from([id(digit)]),
            bytes: 1,
        }
    }

    #[tokio::test]
    async fn of_two_changes_of_one_state_one_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        check(&place).await.expect("a disk keeps writers apart");
        let mut one = State::read(&place).await.expect("no log is an empty one");
        let mut other = one.clone();
        one.files.push(compacted('a'));
        other.files.push(compacted('b'));
        assert!(one.commit(&place).await.expect("it can be written"));
        assert!(!other.commit(&place).await.expect("it can be written"));
        let newest = State::read(&place).await.expect("an entry");
        assert_eq!(newest, one);
        let name = |digit: char| Name {
            partition: one.files[0].partition.clone(),
            stem: Stem::Recording(digit.to_string().repeat(32)),
        };
        assert!(newest.has_replaced(&name('a')) && !newest.has_replaced(&name('b')));
        assert!(!newest.has_replaced(&compacted('a').name()) && newest.has_replaced(&compacted('b').name()));
    }

    #[tokio::test]
    async fn old_entries_go_and_the_newest_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        let mut state = State::default();
        for _ in 0..KEPT + 5 {
            assert!(state.commit(&place).await.expect("it can be written"));
        }
        let count = || std::fs::read_dir(folder.path().join(LOG)).expect("the log").count();
        forget_old(&place).await.expect("it can be listed");
        assert_eq!(count(), KEPT + 5, "none is a day old");
        let two_days_ago = SystemTime::now() - Duration::from_secs(2 * 86_400);
        for entry in std::fs::read_dir(folder.path().join(LOG)).expect("the log") {
            let file =
                std::fs::File::options().write(true).open(entry.expect("an entry").path()).expect("a file");
            file.set_modified(two_days_ago).expect("a time");
        }
        forget_old(&place).await.expect("it can be listed");
        assert_eq!(count(), KEPT);
        assert_eq!(State::read(&place).await.expect("an entry").number, state.number);
    }

    #[tokio::test]
    async fn a_log_that_is_none_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = place(folder.path());
        std::fs::create_dir_all(folder.path().join(LOG)).expect("a folder");
        let file = folder.path().join(LOG).join("0000000001.json");
        for (text, part) in [
            ("", "is damaged"),
            ("{\"version\":2,\"compacted\":[]}", "newer heapwise"),
            (
                "{\"version\":1,\"compacted\":[{\"date\":\"../..\",\"service\":\"a\",\"file\":\"x\",\"recordings\":[],\"bytes\":1}]}",
                "is damaged",
            ),
        ] {
            std::fs::write(&file, text).expect("a file");
            let error = State::read(&place).await.expect_err("it is none").to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
