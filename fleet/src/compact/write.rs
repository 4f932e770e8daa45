//! The files that a group becomes.

use super::plan::Group;
use crate::engine::{Checked, Left, Session, failed};
use crate::store::live::RECORDINGS;
use crate::store::{Name, Place, plain};
use anyhow::{Context, Result};
use datafusion::execution::SendableRecordBatchStream;
use futures::TryStreamExt;
use heapwise_tables::{TABLES, Table};
use object_store::ObjectStoreExt;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use parquet::arrow::AsyncArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};
use std::sync::Arc;

/// Rows that are read or left out together: few enough that a query for one stack reads little.
const ROWS_OF_A_GROUP: usize = 1 << 17;

/// The column that is looked for in all recordings.
const STACK: &str = "stack_id";

/// The files of a group in all tables.
#[derive(Debug)]
pub(super) struct Inputs {
    /// In each table.
    tables: Vec<(&'static Table, Checked)>,
}

impl Inputs {
    /// Looks at the footers of all.
    ///
    /// # Errors
    /// If a table cannot be listed.
    pub(super) async fn of(session: &Session, group: &Group) -> Result<Self> {
        let mut tables = Vec::new();
        // The table that says which recordings there are is written last.
        let last = TABLES.iter().filter(|table| table.name == RECORDINGS);
        for table in TABLES.iter().filter(|table| table.name != RECORDINGS).chain(last) {
            tables.push((*table, session.to_compact(table, &group.partition, &group.inputs).await?));
        }
        Ok(Self { tables })
    }

    /// Those that cannot be written anew, as far as their footers say.
    pub(super) fn unreadable(&self) -> Vec<Left> {
        self.tables.iter().flat_map(|(_, checked)| checked.left.iter().cloned()).collect()
    }

    /// Those whose values cannot be read.
    ///
    /// # Errors
    /// If a store or a disk fails.
    pub(super) async fn damaged(&self, session: &Session) -> Result<Vec<Left>> {
        let mut left = Vec::new();
        for (_, checked) in &self.tables {
            left.extend(session.damaged(&checked.files).await?);
        }
        Ok(left)
    }

    /// Those tables that it becomes files of.
    fn written(&self) -> impl Iterator<Item = &(&'static Table, Checked)> {
        self.tables.iter().filter(|(table, checked)| !table.is_sparse || !checked.files.is_empty())
    }

    /// How many files there are, and how many they become.
    pub(super) fn count(&self) -> (u64, u64) {
        let before: usize = self.tables.iter().map(|(_, checked)| checked.files.len()).sum();
        (before as u64, self.written().count() as u64)
    }

    /// Writes a file in each of these tables, and returns their bytes.
    ///
    /// # Errors
    /// If an input cannot be read, or a file cannot be written.
    pub(super) async fn write(&self, session: &Session, place: &Place, name: &Name) -> Result<u64> {
        let mut bytes = 0;
        for (table, checked) in self.written() {
            let key = name.path(table.name)?;
            let rows = session.rows(table, &checked.files, &select(table)).await?;
            bytes += one(rows, table, place, &key)
                .await
                .with_context(|| format!("cannot write {key} of {place}"))?;
        }
        Ok(bytes)
    }
}

async fn one(mut rows: SendableRecordBatchStream, table: &Table, place: &Place, key: &Path) -> Result<u64> {
    let mut properties = table.properties()?.set_max_row_group_row_count(Some(ROWS_OF_A_GROUP));
    if table.columns.iter().any(|column| column.name == STACK) {
        properties = properties.set_column_bloom_filter_enabled(ColumnPath::from(STACK), true);
    }
    let contract = SchemaDescriptor::new(Arc::new(table.schema()?));
    let options = ArrowWriterOptions::new()
        .with_properties(properties.build())
        .with_skip_arrow_metadata(true)
        .with_parquet_schema(contract);
    let file = BufWriter::new(Arc::clone(place.store()), key.clone());
    let mut writer = AsyncArrowWriter::try_new_with_options(file, rows.schema(), options)?;
    while let Some(batch) = rows.try_next().await.map_err(failed)? {
        writer.write(&batch).await?;
    }
    writer.close().await?;
    Ok(place.store().head(key).await.map_err(plain)?.size)
}

/// All rows of a table, in the order in which they are looked for. What describes stacks is there once.
fn select(table: &Table) -> String {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let has = |name: &str| columns.contains(&name);
    let distinct = if has("recording") { "" } else { "distinct " };
    let order: Vec<&str> =
        ["recording", "rank", STACK, "frame_id", "time_ns"].into_iter().filter(|name| has(name)).collect();
    format!("select {distinct}{} from {} order by {}", columns.join(", "), table.name, order.join(", "))
}
