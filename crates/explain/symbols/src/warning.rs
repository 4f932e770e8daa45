//! What made the names of a module fewer or less exact than they could be.

use std::path::PathBuf;

/// Something that costs names but does not keep a module from being used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The file has debug information, but it cannot be read. Symbols are used instead.
    #[error("{}: debug information cannot be read: {reason}; only symbols are used", path.display())]
    DebugInfoUnreadable {
        /// The file with the debug information.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// A debug file is there, but it belongs to another build.
    #[error("{}: debug file of another build, not used", path.display())]
    DebugFileMismatch {
        /// The debug file.
        path: PathBuf,
    },
    /// The debug information refers to a supplementary file (made by `dwz`) that was not found.
    #[error("{}: the supplementary debug file {name:?} was not found; some names are missing", path.display())]
    SupplementaryMissing {
        /// The file with the debug information.
        path: PathBuf,
        /// The name that it gives.
        name: String,
    },
}
