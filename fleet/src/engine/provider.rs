//! A table whose rows are in the files that count.

use super::schema;
use crate::store::Name;
use anyhow::Result;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{PartitionedFile, helpers};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result as EngineResult;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::union::UnionExec;
use heapwise_tables::Table;
use object_store::ObjectMeta;
use std::sync::Arc;

/// One table of one or several fleets.
#[derive(Debug)]
pub(crate) struct Provider {
    files: SchemaRef,
    table: SchemaRef,
    parts: Vec<Part>,
}

/// The files of one fleet.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) store: ObjectStoreUrl,
    pub(crate) files: Vec<PartitionedFile>,
}

impl Part {
    pub(crate) fn new(store: ObjectStoreUrl, files: Vec<(Name, ObjectMeta)>) -> Self {
        let file = |(name, meta): (Name, ObjectMeta)| {
            let values = [name.partition.date, name.partition.service].map(ScalarValue::from).to_vec();
            PartitionedFile::new_from_meta(meta).with_partition_values(values)
        };
        Self { store, files: files.into_iter().map(file).collect() }
    }
}

impl Provider {
    pub(crate) fn new(table: &Table, parts: Vec<Part>) -> Result<Self> {
        let files = schema::of_files(table)?;
        Ok(Self { table: schema::of_table(&files), files, parts })
    }

    async fn scan_part(
        &self,
        part: &Part,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Option<Arc<dyn ExecutionPlan>>> {
        let folders =
            DFSchema::try_from(datafusion::arrow::datatypes::Schema::new(schema::of_folders().to_vec()))?;
        let mut files = Vec::new();
        for file in &part.files {
            files.extend(helpers::filter_partitioned_file(file.clone(), filters, &folders)?);
        }
        if files.is_empty() {
            return Ok(None);
        }
        let schema = TableSchema::builder(Arc::clone(&self.files))
            .with_table_partition_cols(schema::of_folders().to_vec())
            .build();
        let source = Arc::new(ParquetSource::new(schema));
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let config = FileScanConfigBuilder::new(part.store.clone(), source)
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(Some(ParquetFormat::default().create_physical_plan(state, config).await?))
    }
}

/// Whether the folders of a file answer it.
fn is_of_folders(filter: &Expr) -> bool {
    let folders = schema::of_folders();
    let names: Vec<&str> = folders.iter().map(|field| field.name().as_str()).collect();
    helpers::expr_applicable_for_cols(&names, filter)
}

#[async_trait]
impl TableProvider for Provider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.table)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let filters: Vec<Expr> = filters.iter().filter(|filter| is_of_folders(filter)).cloned().collect();
        let mut plans = Vec::new();
        for part in &self.parts {
            plans.extend(self.scan_part(part, state, projection, &filters, limit).await?);
        }
        match plans.len() {
            0 => {
                let schema = match projection {
                    Some(columns) => Arc::new(self.table.project(columns)?),
                    None => Arc::clone(&self.table),
                };
                Ok(Arc::new(EmptyExec::new(schema)))
            }
            1 => Ok(plans.remove(0)),
            _ => UnionExec::try_new(plans),
        }
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> EngineResult<Vec<TableProviderFilterPushDown>> {
        // The engine looks at each row again: a condition may be neither true nor false.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}
