//! The files that a group becomes.

use super::plan::Group;
use crate::engine::{Left, Session};
use crate::store::live::RECORDINGS;
use crate::store::{Name, Place, plain};
use anyhow::{Context, Result};
use futures::TryStreamExt;
use heapwise_tables::{TABLES, Table};
use object_store::ObjectStoreExt;
use object_store::buffered::BufWriter;
use parquet::arrow::AsyncArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};
use std::sync::Arc;

/// Rows that are read or left out together: few enough that a query for one stack reads little.
const ROWS_OF_A_GROUP: usize = 1 << 17;

/// The column that is looked for in all recordings.
const STACK: &str = "stack_id";

/// Which files of a group cannot be read, in any table; with `all`, what they hold is read, too.
///
/// # Errors
/// If a table cannot be listed.
pub(super) async fn unreadable(session: &Session, group: &Group, all: bool) -> Result<Vec<Left>> {
    let mut left = Vec::new();
    for table in TABLES {
        left.extend(session.unreadable(table, &group.partition, &group.inputs, all).await?);
    }
    Ok(left)
}

/// Writes a file in each table, the one of `recordings` last. Returns their bytes.
///
/// # Errors
/// If an input cannot be read, or a file cannot be written.
pub(super) async fn tables(session: &Session, place: &Place, group: &Group, name: &Name) -> Result<u64> {
    let mut bytes = 0;
    let last = TABLES.iter().filter(|table| table.name == RECORDINGS);
    for table in TABLES.iter().filter(|table| table.name != RECORDINGS).chain(last) {
        bytes += one(session, place, group, name, table).await?;
    }
    Ok(bytes)
}

async fn one(
    session: &Session,
    place: &Place,
    group: &Group,
    name: &Name,
    table: &'static Table,
) -> Result<u64> {
    let key = name.path(table.name)?;
    let what = || format!("cannot write {key} of {place}");
    let mut rows = session.rows(table, &group.partition, &group.inputs, &select(table)).await?;
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
    let mut writer =
        AsyncArrowWriter::try_new_with_options(file, rows.schema(), options).with_context(what)?;
    while let Some(batch) =
        rows.try_next().await.with_context(|| format!("cannot read {} of {place}", table.name))?
    {
        writer.write(&batch).await.with_context(what)?;
    }
    writer.close().await.with_context(what)?;
    Ok(place.store().head(&key).await.map_err(plain).with_context(what)?.size)
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
