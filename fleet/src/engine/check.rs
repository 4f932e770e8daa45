//! Which files can be read, before a query relies on them.

use super::schema::{self, Other};
use crate::store::{Name, Place, live};
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use futures::StreamExt;
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

/// Reads the footers of those files of a table that count. The engine reads them from its cache later.
pub(crate) async fn footers(
    place: &Place,
    table: &'static Table,
    names: impl Iterator<Item = &Name>,
    mut found: live::Found,
    runtime: &RuntimeEnv,
) -> Checked {
    let mut checked = Checked::default();
    let mut files = Vec::new();
    for name in names {
        match found.files.remove(name) {
            Some(meta) => files.push((name.clone(), meta)),
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
            let why = match footer.fetch_metadata().await {
                Err(error) if is_not_found(&error) => Some(Why::Missing),
                Err(error) => Some(Why::Damaged(first_line(&error))),
                Ok(footer) => match schema::compare(table, &footer) {
                    Ok(()) => None,
                    Err(Other::Newer(version)) => Some(Why::Newer(version)),
                    Err(Other::Foreign(error)) => Some(Why::Foreign(error)),
                },
            };
            (name, meta, why)
        }
    };
    let mut results = futures::stream::iter(files).map(read).buffered(AT_ONCE);
    while let Some((name, meta, why)) = results.next().await {
        match why {
            None => checked.files.push((name, meta)),
            Some(why) => {
                checked.left.push(Left { path: shown(place, meta.location.as_ref()), name: Some(name), why });
            }
        }
    }
    checked
}

/// Reads all values of files, and says which cannot be read: for a query that failed, since a footer says nothing of them.
pub(crate) async fn values(place: &Place, files: &[(Name, ObjectMeta)]) -> Vec<Left> {
    let read = |(name, meta): &(Name, ObjectMeta)| {
        let (name, meta) = (name.clone(), meta.clone());
        async move {
            let error = read_all(place, &meta).await.err()?;
            let why = if is_not_found(error.as_ref()) {
                Why::Missing
            } else {
                Why::Damaged(first_line(error.as_ref()))
            };
            Some(Left { path: shown(place, meta.location.as_ref()), name: Some(name), why })
        }
    };
    let results = futures::stream::iter(files).map(read).buffered(AT_ONCE);
    results.filter_map(std::future::ready).collect().await
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

/// Whether a store has no such file. The engine puts its own errors around those of stores.
pub(super) fn is_not_found(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if matches!(error.downcast_ref(), Some(object_store::Error::NotFound { .. })) {
            return true;
        }
        let inner = error.downcast_ref::<DataFusionError>().map(DataFusionError::find_root);
        if let Some(DataFusionError::ObjectStore(inner)) = inner {
            return matches!(**inner, object_store::Error::NotFound { .. });
        }
        next = error.source();
    }
    false
}
