//! Lines of source files, from wherever the caller has them.

use std::fmt;
use std::sync::Arc;

type Look = dyn Fn(&str, u32) -> Option<String> + Send + Sync;

/// Says what stands on a line of a source file, if that can be had. Rendering is pure: who renders decides whether and how
/// files are read.
#[derive(Clone)]
pub struct SourceLines(Arc<Look>);

impl SourceLines {
    /// Lines as this function finds them by path and number, the first line being 1.
    pub fn new(look: impl Fn(&str, u32) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }

    /// The line without the space around it; `None` if it is not there or empty.
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
