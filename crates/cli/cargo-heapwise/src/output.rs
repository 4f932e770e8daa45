//! Files that results go to.

use crate::Failure;
use anyhow::Context;
use heapwise_report::escape::file::{self, Existing};
use std::path::Path;

/// Sees that there will be a place for a result, before the work of minutes whose result it is.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    Ok(file::check(path, Existing::Replace).with_context(|| format!("cannot write {}", path.display()))?)
}
