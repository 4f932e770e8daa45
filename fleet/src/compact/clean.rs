//! What does not count any more, and is removed.

use crate::store::live::{self, Live, Range};
use crate::store::{Name, Place, Stem, plain};
use anyhow::{Context, Result};
use chrono::{TimeDelta, Utc};
use futures::StreamExt;
use heapwise_tables::TABLES;
use object_store::ObjectStore;
use object_store::path::Path;
use std::time::Duration;

/// What nothing refers to may be what another compaction is about to refer to, for this long.
const PATIENCE: TimeDelta = TimeDelta::hours(6);
/// A compaction that took longer than this refers to nothing: what it wrote may have been removed.
pub(super) const LONGEST: Duration = Duration::from_secs(5 * 3600);

/// Removes files in all tables that a compaction replaced, and old compacted ones that nothing refers to: what was broken off leaves
/// them. What an export has left cannot be distinguished from one that is under way, and stays for the next export to replace. Returns how many.
///
/// # Errors
/// If a table cannot be listed, or a file cannot be removed.
pub(super) async fn leftovers(place: &Place, range: &Range) -> Result<u64> {
    let live = Live::read(place, range).await?;
    let compacted = live.state.recordings();
    let oldest = Utc::now() - PATIENCE;
    let mut gone = Vec::new();
    for table in TABLES {
        for (name, meta) in live::list(place, table.name, range).await?.files {
            let is_left = match &name.stem {
                Stem::Recording(id) => compacted.contains(id.as_str()),
                Stem::Compacted(_) => !live.names.contains(&name) && meta.last_modified < oldest,
            };
            if is_left {
                gone.push(meta.location);
            }
        }
    }
    let n = gone.len() as u64;
    remove_paths(place, gone).await?;
    Ok(n)
}

/// Removes the files of these names in all tables.
///
/// # Errors
/// If a file is there and cannot be removed.
pub(super) async fn remove(place: &Place, names: &[Name]) -> Result<()> {
    let mut paths = Vec::new();
    for name in names {
        for table in TABLES {
            paths.push(name.path(table.name)?);
        }
    }
    remove_paths(place, paths).await
}

async fn remove_paths(place: &Place, paths: Vec<Path>) -> Result<()> {
    let paths = futures::stream::iter(paths.into_iter().map(Ok)).boxed();
    let mut results = place.store().delete_stream(paths);
    while let Some(result) = results.next().await {
        match result {
            // Another compaction removed it.
            Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => {
                return Err(plain(error)).with_context(|| format!("cannot remove a file of {place}"));
            }
        }
    }
    Ok(())
}
