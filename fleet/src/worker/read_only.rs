//! A store that can only be read.

use crate::store::Name;
use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use heapwise_tables::TABLES;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Plans come from elsewhere, and one may write, or read what is no table: here it cannot.
#[derive(Debug)]
pub(super) struct ReadOnly(pub(super) Arc<dyn ObjectStore>);

fn refused() -> Error {
    Error::NotSupported { source: "a worker only reads tables".into() }
}

/// Lets only files of tables be read.
fn check(path: &Path) -> Result<()> {
    let is_table = TABLES.iter().any(|table| Name::parse(table.name, path).is_some());
    if is_table { Ok(()) } else { Err(refused()) }
}

#[async_trait]
impl ObjectStore for ReadOnly {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(refused())
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(refused())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        check(location)?;
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        check(location)?;
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        paths.map(|_| Err(refused())).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        futures::stream::once(async { Err(refused()) }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(refused())
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(refused())
    }
}

impl fmt::Display for ReadOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, only to be read", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    #[tokio::test]
    async fn it_is_read_and_not_written() {
        let store = Arc::new(InMemory::new());
        let table =
            |name: &str| Path::from(format!("sites/date=2026-11-26/service=shop/{name}.parquet").as_str());
        let (one, other) = (table(&"0".repeat(32)), table(&"1".repeat(32)));
        let no_table = Path::from("_heapwise/log/0000000001.json");
        for path in [&one, &no_table] {
            store.put(path, "text".into()).await.expect("written");
        }
        let read_only = ReadOnly(Arc::clone(&store) as Arc<dyn ObjectStore>);
        let found = read_only.get(&one).await.expect("read").bytes().await.expect("read");
        assert_eq!(found, "text");
        assert!(read_only.get(&no_table).await.is_err() && read_only.head(&no_table).await.is_err());
        assert!(read_only.list(None).next().await.is_some_and(|file| file.is_err()));
        assert!(read_only.put(&one, "changed".into()).await.is_err());
        assert!(read_only.put_multipart(&other).await.is_err());
        assert!(read_only.copy(&one, &other).await.is_err() && read_only.rename(&one, &other).await.is_err());
        assert!(read_only.delete(&one).await.is_err());
        let left: Vec<_> = store.list(None).map(|file| file.expect("listed").location).collect().await;
        assert_eq!(left, [no_table, one]);
    }
}
