//! The operations of a run.

use super::operation::Entry;
use super::own::Own;
use super::{Operation, OperationReport, Report};
use crate::output;
use crate::state::Use;
use crate::tally::{self, Ignore};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The operations of a run, and its report. Counting is on as long as it, or one of its operations, is alive.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();
///
/// fn main() {
///     let session = heapwise::Session::new();
///     {
///         let _span = session.operation("join").measure_thread();
///         std::hint::black_box(["a", "b"].join(", "));
///     }
///     session.print_to_stdout();
/// }
/// ```
///
/// It prints nothing when it is dropped.
#[derive(Debug)]
pub struct Session {
    entries: Own<Mutex<Vec<Arc<Entry>>>>,
    _use: Use,
}

impl Session {
    /// Begins to count.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// let session = heapwise::Session::new();
    /// assert!(session.to_report().is_empty());
    /// ```
    ///
    /// # Panics
    ///
    /// When [`Allocator`](crate::Allocator) is not the global allocator of the program: all counts would be zero, which looks
    /// like success. The message has the lines that are missing.
    ///
    /// ```should_panic,standalone_crate
    /// let session = heapwise::Session::new();
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        let counting = Use::counting();
        tally::ensure_installed();
        Self { entries: Own::make(Mutex::default), _use: counting }
    }

    /// The operation of a name. The same name is the same operation.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// drop(session.operation("parse").measure_thread());
    /// drop(session.operation("parse").measure_thread());
    /// assert_eq!(session.operation("parse").report().spans(), 2);
    /// ```
    pub fn operation(&self, name: impl AsRef<str>) -> Operation {
        let name = name.as_ref();
        let entry = Own::make(|| {
            let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(entry) = entries.iter().find(|entry| *entry.name == *name) {
                return Arc::clone(entry);
            }
            let entry = Arc::new(Entry::new(name));
            entries.push(Arc::clone(&entry));
            entry
        });
        Operation { entry }
    }

    /// The current counts, as a value: the operations in the order in which they were named, without those that have no span.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// drop(session.operation("first").measure_thread());
    /// let report = session.to_report();
    /// drop(session.operation("second").measure_thread());
    /// assert_eq!(report.operations().count(), 1);
    /// ```
    #[must_use]
    pub fn to_report(&self) -> Report {
        Report::new(|| {
            let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            let used = entries.iter().map(|entry| (entry, entry.metrics())).filter(|(_, m)| !m.is_empty());
            used.map(|(entry, metrics)| OperationReport::new(&entry.name, metrics)).collect()
        })
    }

    /// Prints the table to standard output. Nothing at all is printed if there are no spans: `cargo test` runs benchmarks, too,
    /// and a filter may leave nothing to do.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// drop(session.operation("nothing").measure_thread());
    /// session.print_to_stdout();
    /// ```
    ///
    /// ```text
    /// Allocation statistics:
    ///
    /// | Operation | Mean bytes | Mean count | Peak live bytes |
    /// |-----------|------------|------------|-----------------|
    /// | nothing   |          0 |          0 |               0 |
    /// ```
    pub fn print_to_stdout(&self) {
        let report = self.to_report();
        if !report.is_empty() {
            let _ignore = Ignore::begin();
            let text = format!("\nAllocation statistics:\n\n{report}\n");
            // If standard output is closed, the table is not wanted.
            let _ = io::stdout().lock().write_all(text.as_bytes());
        }
    }

    /// Writes the report as JSON ([`Report::to_json`]) to `<target>/heapwise/operations/<name>.json`, next to Criterion's own
    /// folder `<target>/criterion`, and returns the path. Without spans there is no file, and `None`.
    ///
    /// It is separate from printing, because only the program knows the name that distinguishes its run from others: a file with
    /// figures of a quick trial must not replace real ones.
    ///
    /// `<target>` is `CARGO_TARGET_DIR`, or the folder above the running program that cargo has marked as its own. Letters of a
    /// name that may mean something to a file system are replaced.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// assert_eq!(session.save("parsing").expect("nothing to write"), None);
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no such folder, or it cannot be written to. The message names the file.
    pub fn save(&self, name: impl AsRef<str>) -> io::Result<Option<PathBuf>> {
        let report = self.to_report();
        let _ignore = Ignore::begin();
        let path = match report.is_empty() {
            true => return Ok(None),
            false => output::folder()?.join("operations").join(output::file_name(name.as_ref())),
        };
        output::write(&path, &report.to_json())?;
        Ok(Some(path))
    }
}

impl Default for Session {
    /// As [`Session::new`].
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
