//! A table whose rows are in the files that count.

use super::schema;
use crate::store::Name;
use anyhow::Result;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{DFSchema, ScalarValue, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{PartitionedFile, helpers};
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result as EngineResult;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::union::UnionExec;
use futures::{StreamExt, TryStreamExt};
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

    /// How much there is in these files: the engine holds the smaller side of a join in memory. Not exact, since values that cannot be
    /// read are found out about when they are.
    async fn statistics(
        &self,
        part: &Part,
        files: &[PartitionedFile],
        state: &dyn Session,
    ) -> EngineResult<Statistics> {
        let runtime = state.runtime_env();
        let store = runtime.object_store(&part.store)?;
        let cache = runtime.cache_manager.get_file_metadata_cache();
        let footer = |file: &PartitionedFile| {
            let (store, cache, meta) = (Arc::clone(&store), cache.clone(), file.object_meta.clone());
            async move {
                let footer =
                    DFParquetMetadata::new(store.as_ref(), &meta).with_file_metadata_cache(Some(cache));
                footer.fetch_metadata().await
            }
        };
        let (mut rows, mut bytes) = (0, 0);
        let mut footers = futures::stream::iter(files).map(footer).buffered(AT_ONCE);
        while let Some(footer) = footers.try_next().await? {
            rows += footer.file_metadata().num_rows();
            bytes += footer.row_groups().iter().map(|group| group.total_byte_size()).sum::<i64>();
        }
        let about = |number: i64| Precision::Inexact(usize::try_from(number).unwrap_or(0));
        let mut statistics = Statistics::new_unknown(&self.table);
        (statistics.num_rows, statistics.total_byte_size) = (about(rows), about(bytes));
        Ok(statistics)
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
        let statistics = self.statistics(part, &files, state).await?;
        let source = Arc::new(ParquetSource::new(schema));
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let config = FileScanConfigBuilder::new(part.store.clone(), source)
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(Some(ParquetFormat::default().create_physical_plan(state, config).await?))
    }
}

/// How many footers are looked at at once, most of which are in the engine's cache.
const AT_ONCE: usize = 32;

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
