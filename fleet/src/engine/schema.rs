//! The columns of the contract as the engine's types.

use anyhow::{Context, Result, bail};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::file_format::parquet::transform_schema_to_view;
use heapwise_tables::{Table, VERSION, VERSION_KEY};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;
use std::sync::Arc;

/// The columns of a table's files. Texts are views: the engine need not copy them.
///
/// # Errors
/// If the engine has no such type: a mistake in the table's own file.
pub(crate) fn of_files(table: &Table) -> Result<SchemaRef> {
    let written = SchemaDescriptor::new(Arc::new(table.schema()?));
    let schema = parquet_to_arrow_schema(&written, None).context("the columns of a table")?;
    Ok(Arc::new(transform_schema_to_view(&schema)))
}

/// What the folders of a file say of its rows, as engines with partitions have it: behind the columns of the file.
pub(crate) fn of_folders() -> [Arc<Field>; 2] {
    ["date", "service"].map(|name| Arc::new(Field::new(name, DataType::Utf8, false)))
}

/// The columns of a table as a query sees them.
pub(crate) fn of_table(files: &Schema) -> SchemaRef {
    let fields = files.fields().iter().cloned().chain(of_folders());
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Whether a file has the columns of a table, from its footer. It may have more, and may lack those that were added later, which
/// have no values then.
///
/// # Errors
/// If it has not; the error says why.
pub(crate) fn compare(table: &Table, file: &ParquetMetaData) -> Result<(), Other> {
    let metadata = file.file_metadata();
    let version = metadata.key_value_metadata().into_iter().flatten().find(|pair| pair.key == VERSION_KEY);
    let version = version.and_then(|pair| pair.value.as_deref());
    match version.map(str::parse::<u32>) {
        Some(Ok(number)) if number > VERSION => return Err(Other::Newer(number)),
        Some(Err(_)) => return Err(Other::Foreign("it has no version of tables".to_owned())),
        _ => {}
    }
    columns(table, metadata.schema_descr()).map_err(|error| Other::Foreign(format!("{error:#}")))
}

/// Why a file is none of a table.
#[derive(Debug)]
pub(crate) enum Other {
    /// Of this version.
    Newer(u32),
    /// It has more columns: reading it is no harm, and writing it anew would lose them.
    More(String),
    Foreign(String),
}

/// The same for a file that is to be written anew: it may not have columns that this heapwise does not know.
///
/// # Errors
/// If it has.
pub(crate) fn compare_exactly(table: &Table, file: &ParquetMetaData) -> Result<(), Other> {
    compare(table, file)?;
    let is_known = |name: &str| table.columns.iter().any(|column| column.name == name);
    let fields = file.file_metadata().schema().get_fields();
    match fields.iter().find(|field| !is_known(field.name())) {
        Some(field) => Err(Other::More(field.name().to_owned())),
        None => Ok(()),
    }
}

fn columns(table: &Table, file: &SchemaDescriptor) -> Result<()> {
    let contract = table.schema()?;
    let there = file.root_schema().get_fields();
    for wanted in contract.get_fields() {
        match there.iter().find(|field| field.name() == wanted.name()) {
            Some(field) if same_type(field, wanted) => {}
            Some(_) => bail!("its column {} has another type", wanted.name()),
            None if wanted.is_optional() => {}
            None => bail!("it has no column {}", wanted.name()),
        }
    }
    Ok(())
}

/// Whether values of one are those of the other, whatever writer chose the names within lists.
fn same_type(one: &parquet::schema::types::Type, other: &parquet::schema::types::Type) -> bool {
    let (info, wanted) = (one.get_basic_info(), other.get_basic_info());
    let same = info.has_repetition() == wanted.has_repetition()
        && (!info.has_repetition() || info.repetition() == wanted.repetition())
        && info.logical_type_ref() == wanted.logical_type_ref();
    match (one.is_primitive(), other.is_primitive()) {
        (true, true) => same && one.get_physical_type() == other.get_physical_type(),
        (false, false) => {
            let (fields, wanted) = (one.get_fields(), other.get_fields());
            same && fields.len() == wanted.len() && fields.iter().zip(wanted).all(|(a, b)| same_type(a, b))
        }
        _ => false,
    }
}
