//! What a table is.

use crate::column::Column;
use crate::rows::Rows;
use crate::source::Source;

/// A kind of row.
pub struct Table {
    /// Its name in queries, and of its folder.
    pub name: &'static str,
    /// What one row is.
    pub about: &'static str,
    pub columns: &'static [Column],
    /// Adds the rows of a recording.
    pub(crate) fill: fn(&Source<'_>, &mut Rows),
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
