//! Where a fleet lies: a folder, or a bucket of a store that speaks S3.

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use datafusion::execution::object_store::ObjectStoreUrl;
use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// So many bytes of a digest are two fleets never the same in.
const ID_BYTES: usize = 16;

/// A fleet, wherever it lies. Paths in it begin with the name of a table.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// As it was named.
    shown: String,
    /// Where a store is that is not Amazon's.
    endpoint: String,
    store: Arc<dyn ObjectStore>,
    /// If it is on a disk.
    folder: Option<PathBuf>,
}

impl Place {
    /// A folder, or `s3://BUCKET/FOLDER`. Credentials of a store are those of the environment (`AWS_ACCESS_KEY_ID` and so on), and
    /// nothing else's.
    ///
    /// # Errors
    /// If there is no such folder, or the URL names no store that is known.
    pub(crate) fn open(named: &str) -> Result<Self> {
        match named.split_once("://") {
            Some(("s3", _)) => Self::bucket(named),
            Some((scheme, _)) => bail!("{scheme}:// is not known: name a folder, or s3://BUCKET/FOLDER"),
            None => Self::folder(named),
        }
    }

    /// All of these, each once, however often and under whichever names it is named.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub(crate) fn open_all<'a>(named: impl IntoIterator<Item = &'a String>) -> Result<Vec<Self>> {
        let mut places: Vec<Self> = Vec::new();
        for name in named {
            let place = Self::open(name)?;
            if !places.iter().any(|other| other.id() == place.id()) {
                places.push(place);
            }
        }
        Ok(places)
    }

    fn folder(named: &str) -> Result<Self> {
        let folder =
            std::path::Path::new(named).canonicalize().with_context(|| format!("cannot open {named}"))?;
        if !folder.is_dir() {
            bail!(
                "{named} is no folder of tables: `heapwise fleet ingest {named} -o FOLDER` makes one of a recording"
            );
        }
        let store =
            LocalFileSystem::new_with_prefix(&folder).with_context(|| format!("cannot open {named}"))?;
        Ok(Self {
            shown: named.to_owned(),
            endpoint: String::new(),
            store: Arc::new(store),
            folder: Some(folder),
        })
    }

    fn bucket(named: &str) -> Result<Self> {
        let url = Url::parse(named).with_context(|| format!("{named} is no URL"))?;
        let builder = AmazonS3Builder::from_env().with_url(named).with_retry(patience());
        let store = builder.build().with_context(|| format!("cannot open {named}"))?;
        let endpoint =
            ["AWS_ENDPOINT", "AWS_ENDPOINT_URL"].into_iter().find_map(|name| std::env::var(name).ok());
        let prefix =
            Path::from_url_path(url.path()).with_context(|| format!("{named} has no usable path"))?;
        Ok(Self {
            shown: named.to_owned(),
            endpoint: endpoint.unwrap_or_default(),
            store: Arc::new(PrefixStore::new(store, prefix)),
            folder: None,
        })
    }

    /// The same for the same fleet, whatever it was called, on all machines that have it in the same place.
    pub(crate) fn id(&self) -> String {
        let name = match &self.folder {
            Some(folder) => folder.as_os_str().as_encoded_bytes().to_vec(),
            None => format!("{} {}", self.shown.trim_end_matches('/'), self.endpoint).into_bytes(),
        };
        Sha256::digest(name).iter().take(ID_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The engine's name of its store.
    ///
    /// # Errors
    /// If the engine does not take it.
    pub(crate) fn url(&self) -> Result<ObjectStoreUrl> {
        Ok(ObjectStoreUrl::parse(format!("fleet://{}", self.id()))?)
    }

    /// Waits until what was written is on the disk, so that what it replaces can be removed. Stores do so before they answer.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) async fn settle(&self) -> Result<()> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let settled =
            tokio::task::spawn_blocking(move || Ok(rustix::fs::syncfs(std::fs::File::open(folder)?)?)).await;
        settled
            .context("a thread ended")
            .and_then(|result: std::io::Result<()>| Ok(result?))
            .with_context(|| format!("cannot write to {self}"))
    }

    pub(crate) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// All files below a folder of it. None if there is no such folder.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub(crate) async fn list(&self, below: &Path) -> Result<Vec<ObjectMeta>> {
        let found = self.store.list(Some(below)).try_collect().await;
        found.map_err(plain).with_context(|| format!("cannot list {below} of {self}"))
    }

    /// The folders directly below one.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub(crate) async fn folders(&self, of: &Path) -> Result<Vec<Path>> {
        let found = self.store.list_with_delimiter(Some(of)).await;
        Ok(found.map_err(plain).with_context(|| format!("cannot list {of} of {self}"))?.common_prefixes)
    }

    /// Whether there is such a file.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub(crate) async fn has(&self, path: &Path) -> Result<bool> {
        match self.store.head(path).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(plain(error)).with_context(|| format!("cannot read {path} of {self}")),
        }
    }

    /// A whole file.
    ///
    /// # Errors
    /// If it cannot be read, or has more bytes than `most`.
    pub(crate) async fn read(&self, path: &Path, most: u64) -> Result<Bytes> {
        let what = || format!("cannot read {path} of {self}");
        let found = self.store.get(path).await.map_err(plain).with_context(what)?;
        ensure!(
            found.meta.size <= most,
            "{path} of {self} has {} bytes: at most {most} are read",
            found.meta.size
        );
        found.bytes().await.map_err(plain).with_context(what)
    }
}

/// How long a store that does not answer is waited for: it may be away for a moment, and the user is there.
fn patience() -> RetryConfig {
    RetryConfig { max_retries: 4, retry_timeout: Duration::from_secs(30), ..RetryConfig::default() }
}

/// What went wrong with a store, in one sentence: its errors repeat those below them, and have documents in them.
pub(crate) fn plain(error: object_store::Error) -> anyhow::Error {
    let mut inner: &dyn std::error::Error = &error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let whole = error.to_string();
    let between = |before: &str, behind: &str| {
        whole.split_once(before)?.1.split_once(behind).map(|(text, _)| text.to_owned())
    };
    let text = between("<Message>", "</Message>")
        .or_else(|| inner.to_string().lines().next().map(str::to_owned))
        .unwrap_or_default();
    anyhow::Error::msg(text)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}
