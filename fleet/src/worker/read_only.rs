//! A store that can only be read.

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Plans come from elsewhere, and one may write: here it cannot.
#[derive(Debug)]
pub(super) struct ReadOnly(pub(super) Arc<dyn ObjectStore>);

fn refused() -> Error {
    Error::NotSupported { source: "a worker only reads".into() }
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
        self.0.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        paths.map(|_| Err(refused())).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
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
        let (one, other) = (Path::from("one"), Path::from("other"));
        store.put(&one, "text".into()).await.expect("written");
        let read_only = ReadOnly(Arc::clone(&store) as Arc<dyn ObjectStore>);
        let found = read_only.get(&one).await.expect("read").bytes().await.expect("read");
        assert_eq!(found, "text");
        assert!(read_only.put(&one, "changed".into()).await.is_err());
        assert!(read_only.put_multipart(&other).await.is_err());
        assert!(read_only.copy(&one, &other).await.is_err() && read_only.rename(&one, &other).await.is_err());
        assert!(read_only.delete(&one).await.is_err());
        let left: Vec<_> = store.list(None).map(|file| file.expect("listed").location).collect().await;
        assert_eq!(left, [one]);
    }
}
