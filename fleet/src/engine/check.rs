//! Which files can be read, before a query relies on them.

use super::schema::{self, Other};
use crate::store::{Name, Place, live};
use anyhow::{Context, Result};
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use futures::{StreamExt, TryStreamExt};
use heapwise_tables::Table;
use object_store::{ObjectMeta, ObjectStoreExt};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fmt;

/// A file that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Its place, as it is shown.
    pub(crate) path: String,
    /// Which recordings it has, if its name says so.
    pub(crate) name: Option<Name>,
    pub(crate) why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// Its bytes are not those that were written.
    Damaged(String),
    /// It has not the columns of its table, or not the name of a file in it.
    Foreign(String),
    /// A newer heapwise wrote it.
    Newer(u32),
    /// It has a column that this heapwise would not write.
    More(String),
    /// A recording that could not be read.
    Unread(String),
    /// Its recording is there and it is not.
    Missing,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(error) => write!(f, "damaged: {error}"),
            Self::Foreign(error) => write!(f, "not of this table: {error}"),
            Self::Newer(version) => {
                write!(
                    f,
                    "written by a newer heapwise: version {version} of the tables; install a newer one to read it"
                )
            }
            Self::More(column) => {
                write!(
                    f,
                    "written by a newer heapwise: it has a column {column}; install a newer one to compact it"
                )
            }
            Self::Unread(error) => f.write_str(error),
            Self::Missing => f.write_str("missing: other tables have this recording"),
        }
    }
}

/// Files of a table that can be read, as far as their footers say, and those that cannot.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) files: Vec<(Name, ObjectMeta)>,
    pub(crate) left: Vec<Left>,
}

/// How many files are looked at at once. Most of the time goes by waiting for a disk or a store.
const AT_ONCE: usize = 32;

/// What files are checked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    Reading,
    /// Being written anew, with the columns that this heapwise knows.
    Compacting,
}

/// Reads the footers of those files of a table that count. The engine reads them from its cache later.
///
/// # Errors
/// If a store or a disk fails, which says nothing about a file.
pub(crate) async fn footers(
    what_for: For,
    place: &Place,
    table: &'static Table,
    names: impl Iterator<Item = &Name>,
    mut found: live::Found,
    runtime: &RuntimeEnv,
) -> Result<Checked> {
    let mut checked = Checked::default();
    let mut files = Vec::new();
    for name in names {
        match found.files.remove(name) {
            Some(meta) => files.push((name.clone(), meta)),
            None if table.is_sparse => {}
            None => {
                let path =
                    name.path(table.name).map_or_else(|error| error.to_string(), |path| path.to_string());
                let name = Some(name.clone());
                checked.left.push(Left { path: shown(place, &path), name, why: Why::Missing });
            }
        }
    }
    for path in found.foreign {
        let why = Why::Foreign("its name is none of a file of recordings".to_owned());
        checked.left.push(Left { path: shown(place, path.as_ref()), name: None, why });
    }
    let cache = runtime.cache_manager.get_file_metadata_cache();
    let read = |(name, meta): (Name, ObjectMeta)| {
        let cache = cache.clone();
        async move {
            let store = place.store().as_ref();
            let footer = DFParquetMetadata::new(store, &meta).with_file_metadata_cache(Some(cache));
            let compare = match what_for {
                For::Reading => schema::compare,
                For::Compacting => schema::compare_exactly,
            };
            let why = match footer.fetch_metadata().await {
                Err(error) => {
                    Some(of_error(&error).with_context(|| format!("cannot read {}", meta.location))?)
                }
                Ok(footer) => match compare(table, &footer) {
                    Ok(()) => None,
                    Err(Other::Newer(version)) => Some(Why::Newer(version)),
                    Err(Other::More(column)) => Some(Why::More(column)),
                    Err(Other::Foreign(error)) => Some(Why::Foreign(error)),
                },
            };
            anyhow::Ok((name, meta, why))
        }
    };
    let mut results = futures::stream::iter(files).map(read).buffered(AT_ONCE);
    while let Some(result) = results.next().await {
        let (name, meta, why) = result?;
        match why {
            None => checked.files.push((name, meta)),
            Some(why) => {
                checked.left.push(Left { path: shown(place, meta.location.as_ref()), name: Some(name), why });
            }
        }
    }
    Ok(checked)
}

/// Reads all values of files, and says which cannot be read: for a query that failed, since a footer says nothing of them.
///
/// # Errors
/// If a store or a disk fails.
pub(crate) async fn values(place: &Place, files: &[(Name, ObjectMeta)]) -> Result<Vec<Left>> {
    let read = |(name, meta): &(Name, ObjectMeta)| {
        let (name, meta) = (name.clone(), meta.clone());
        async move {
            let Err(error) = read_all(place, &meta).await else { return anyhow::Ok(None) };
            let path = shown(place, meta.location.as_ref());
            let why = of_error(error.as_ref()).with_context(|| format!("cannot read {path}"))?;
            Ok(Some(Left { path, name: Some(name), why }))
        }
    };
    // Each is held as a whole.
    let results = futures::stream::iter(files).map(read).buffered(2);
    results.try_filter_map(|left| std::future::ready(Ok(left))).try_collect().await
}

async fn read_all(place: &Place, meta: &ObjectMeta) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let bytes = place.store().get(&meta.location).await?.bytes().await?;
    for batch in ParquetRecordBatchReaderBuilder::try_new(bytes)?.build()? {
        batch?;
    }
    Ok(())
}

/// The place of a file, as it is shown.
pub(super) fn shown(place: &Place, path: &str) -> String {
    format!("{}/{path}", place.to_string().trim_end_matches('/'))
}

/// What an error says, without what is for those who mend the engine.
fn first_line(error: &dyn std::error::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// What an error says about a file.
///
/// # Errors
/// If it says nothing about it: a store that is away, a disk that fails, a file that may not be read.
fn of_error(error: &(dyn std::error::Error + 'static)) -> Result<Why> {
    match of_store(error) {
        Some(object_store::Error::NotFound { .. }) => Ok(Why::Missing),
        Some(error) => Err(anyhow::Error::msg(first_line(error))),
        None => Ok(Why::Damaged(first_line(error))),
    }
}

/// Whether a store has no such file.
pub(super) fn is_not_found(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(of_store(error), Some(object_store::Error::NotFound { .. }))
}

/// The error of a store in an error. The engine puts its own around those.
fn of_store<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e object_store::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(of_store) = error.downcast_ref::<object_store::Error>() {
            return Some(of_store);
        }
        if let Some(DataFusionError::ObjectStore(of_store)) =
            error.downcast_ref::<DataFusionError>().map(DataFusionError::find_root)
        {
            return Some(of_store);
        }
        next = error.source();
    }
    None
}
