//! Files that results go to.

use crate::Failure;
use anyhow::Context;
use heapwise_report::escape::file::{self, Existing};
use std::path::Path;

/// Checks that a result can be written, before minutes of work for it.
pub(crate) fn check(path: &Path, force: bool) -> Result<(), Failure> {
    Ok(file::check(path, Existing::of(force)).with_context(|| format!("cannot write {}", path.display()))?)
}
