//! Lines of source files, from a reader that the caller provides.

use std::fmt;
use std::sync::Arc;

type Look = dyn Fn(&str, u32) -> Option<String> + Send + Sync;

/// Returns a line of a source file, if it is available. Rendering is pure: the caller decides whether and how files are read.
#[derive(Clone)]
pub struct SourceLines(Arc<Look>);

impl SourceLines {
    /// Lines from a function of path and number, the first line being 1.
    pub fn new(look: impl Fn(&str, u32) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }

    /// The line without surrounding space; `None` if it does not exist or is empty.
    pub fn line(&self, path: &str, number: u32) -> Option<String> {
        (self.0)(path, number).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
    }
}

impl Default for SourceLines {
    fn default() -> Self {
        Self::new(|_, _| None)
    }
}

impl fmt::Debug for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SourceLines")
    }
}
