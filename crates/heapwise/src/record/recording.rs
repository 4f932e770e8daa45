//! A recording from inside of the program, as its user sees it.

use super::linux as here;
use std::io;
use std::path::{Path, PathBuf};

pub(super) const NOT_INSTALLED: &str = "nothing can be recorded: heapwise::Allocator is not the global allocator of this \
     program; add: #[global_allocator] static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();";

/// What came of a recording.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) path: PathBuf,
    pub(crate) events: u64,
}

/// A recording that has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// Where it is.
    pub path: PathBuf,
    /// Events in it: calls of the allocator, for the most part.
    pub events: u64,
}

/// A recording of this process that is under way. Dropping it ends it; so does the end of the process.
#[derive(Debug)]
#[must_use = "the recording ends when this is dropped"]
pub struct Recording {
    _private: (),
}

/// Records this process from now on, into a new file.
///
/// The file is for its owner only, and an existing one is not replaced. Look at it with `heapwise report FILE`. The variable
/// `HEAPWISE_RECORD_TO=FILE` does the same for a whole program, from its start.
///
/// # Errors
/// If [`Allocator`](crate::Allocator) is not the global allocator, the process is or was recorded already, or the file cannot
/// be made.
///
/// # Examples
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
///
/// fn main() -> std::io::Result<()> {
///     # let folder = std::env::temp_dir().join(format!("heapwise-doc-{}", std::process::id()));
///     # std::fs::create_dir_all(&folder)?;
///     # let path = folder.join("doc.hw");
///     let recording = heapwise::record_to(&path)?;
///     let squares: Vec<Box<u64>> = (0..1000).map(|n| Box::new(n * n)).collect();
///     drop(squares);
///     let recorded = recording.finish()?;
///     assert!(recorded.events >= 2000);
///     # std::fs::remove_dir_all(&folder)?;
///     Ok(())
/// }
/// ```
pub fn record_to(path: impl AsRef<Path>) -> io::Result<Recording> {
    here::begin(path.as_ref())?;
    Ok(Recording { _private: () })
}

impl Recording {
    /// Ends the recording, and waits until all of it is in the file.
    ///
    /// # Errors
    /// If the file could not be written to its end. What was written before is in it.
    pub fn finish(self) -> io::Result<Recorded> {
        std::mem::forget(self);
        match here::finish() {
            Some(ended) => ended.map(|ended| Recorded { path: ended.path, events: ended.events }),
            None => Err(io::Error::other("the recording belongs to the process that has begun it")),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(Err(error)) = here::finish() {
            complain(&error);
        }
    }
}

/// Says what nobody can be given as a result.
pub(super) fn complain(error: &io::Error) {
    let line = format!("heapwise: the recording failed: {error}\n");
    // Without a standard error there is nobody to be told.
    let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
}
