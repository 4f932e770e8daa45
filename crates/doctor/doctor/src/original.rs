//! A file as it was read, which its findings and their changes share.

use std::path::{Path, PathBuf};

/// A file as it was read. All changes of it share this: a file with thousands of findings is kept once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Original {
    file: PathBuf,
    whole: String,
}

/// The mark that Windows programs put in front of UTF-8.
const MARK: char = '\u{feff}';

impl Original {
    pub(crate) fn new(file: PathBuf, whole: String) -> Self {
        Self { file, whole }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn whole(&self) -> &str {
        &self.whole
    }

    /// Without a mark in front.
    pub(crate) fn text(&self) -> &str {
        self.whole.strip_prefix(MARK).unwrap_or(&self.whole)
    }
}
