//! What a table is.

use crate::column::Column;
use crate::rows::{self, Rows};
use crate::source::Source;
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesBuilder;
use parquet::schema::types::Type;

/// A kind of row.
pub struct Table {
    /// Its name in queries, and of its folder.
    pub name: &'static str,
    /// What one row is.
    pub about: &'static str,
    pub columns: &'static [Column],
    /// Whether only some recordings have rows in it: those that have none are without a file.
    pub is_sparse: bool,
    /// Adds the rows of a recording.
    pub(crate) fill: fn(&Source<'_>, &mut Rows),
}

impl Table {
    /// Its columns as Parquet has them: a group of the table's name, with a field for each column.
    ///
    /// # Errors
    /// If Parquet has no such columns: a mistake in the table's own file, which its tests find.
    pub fn schema(&self) -> Result<Type> {
        rows::schema(self.name, self.columns)
    }

    /// How its columns are written: compression, dictionaries, and the version of the tables.
    ///
    /// # Errors
    /// If this build of Parquet has no such compression.
    pub fn properties(&self) -> Result<WriterPropertiesBuilder> {
        rows::properties(self.columns)
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
