//! Recordings that the program makes of itself: the public interface.

use super::here;
use std::io;
use std::path::{Path, PathBuf};

/// Records this program from now on into a new file, until the returned value is [finished](Recording::finish) or dropped, or the
/// program exits. `heapwise report FILE` shows what is in it.
///
/// [`Allocator`](crate::Allocator) has to be the global allocator. On Linux on x86-64 every call is recorded, exactly, as
/// `heapwise run` does it, unless [`Recorder`] asks for a sample; a process can be recorded so once. Elsewhere a sample of the blocks is
/// recorded, and [`Recorder`] says how dense it is.
///
/// The variable `HEAPWISE_RECORD_TO=FILE` does the same for a whole program, from its start; `%p` in the name is the process
/// id, and `HEAPWISE_RECORD_EVERY=BYTES` the distance of a sample. The file is for its owner only. Where names of functions are not written into it (Linux on x86-64), they are looked up
/// by `heapwise report`, so look before you build the program again.
///
/// # Errors
/// The file exists or cannot be created, [`Allocator`](crate::Allocator) is not the global allocator, or a recording of this
/// program is under way.
///
/// # Examples
///
/// ```
/// # use heapwise_installed as _;
/// # fn main() -> std::io::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("heapwise-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("program.hw");
/// let recording = heapwise::record_to(&path)?;
/// let list: Vec<u64> = (0..1_000_000).collect();
/// let recorded = recording.finish()?;
/// println!("{} events in {}", recorded.events, recorded.path.display());
/// # assert!(recorded.events > 0 && list.len() == 1_000_000);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
pub fn record_to(path: impl AsRef<Path>) -> io::Result<Recording> {
    Recorder::options().start(path)
}

/// The options of a recording from inside.
///
/// ```
/// # use heapwise_installed as _;
/// # fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("heapwise-doc-all-{}.hw", std::process::id()));
/// // Every block, however small.
/// let recording = heapwise::Recorder::options().sample_every_bytes(1).start(&path)?;
/// let block = std::hint::black_box(Box::new(7));
/// assert!(recording.finish()?.events >= 1);
/// # std::fs::remove_file(&path)?;
/// # drop(block);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    /// None for what is usual.
    sample_bytes: Option<u64>,
}

impl Recorder {
    /// The usual options: a sample of one block for every 512 KiB; on Linux on x86-64 everything.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("heapwise-doc-options-{}.hw", std::process::id()));
    /// let recording = heapwise::Recorder::options().start(&path)?;
    /// drop(recording);
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn options() -> Self {
        Self { sample_bytes: None }
    }

    /// At most how many bytes lie between two recorded blocks on average, up to 1 GiB and rounded up to a power of two. 0 or 1
    /// records everything, which takes microseconds for each block (on Linux on x86-64, nanoseconds).
    #[must_use]
    pub fn sample_every_bytes(mut self, bytes: u64) -> Self {
        self.sample_bytes = Some(bytes);
        self
    }

    /// Begins to record into a new file.
    ///
    /// # Errors
    /// As [`record_to`].
    pub fn start(&self, path: impl AsRef<Path>) -> io::Result<Recording> {
        Recording::begin(path.as_ref(), self.sample_bytes)
    }
}

/// A recording that is under way. It ends when this is dropped; [`Recording::finish`] says whether it is complete.
#[derive(Debug)]
#[must_use = "the recording ends when this is dropped"]
pub struct Recording {
    number: u32,
}

impl Recording {
    fn begin(path: &Path, sample_bytes: Option<u64>) -> io::Result<Self> {
        here::start(path, sample_bytes).map(|number| Self { number })
    }

    /// Ends the recording and waits until all of it is in the file.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("heapwise-doc-finish-{}.hw", std::process::id()));
    /// let recording = heapwise::record_to(&path)?;
    /// let list: Vec<u64> = (0..1000).collect();
    /// println!("{} bytes in {}", recording.finish()?.bytes, path.display());
    /// # drop(list);
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The file could not be written, because the disk is full for instance: it can be read up to there. In a child that was
    /// forked meanwhile, where nothing is recorded.
    pub fn finish(self) -> io::Result<Recorded> {
        let outcome = here::finish(self.number, None);
        std::mem::forget(self);
        outcome.unwrap_or_else(|| {
            Err(io::Error::other("the recording is another process's, or was over before"))
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Programs that need the result call `finish`.
        let _ = here::finish(self.number, None);
    }
}

/// What came of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Where it is.
    pub path: PathBuf,
    /// Events in it: blocks that were handed out, freed or resized. Of a sample, those that were recorded.
    pub events: u64,
    /// Events that are missing, because there was no room for them.
    pub lost_events: u64,
    /// Bytes of the file.
    pub bytes: u64,
}
