//! The engine with the tables that a query names, within its limits.

use super::check::{self, Checked, Left, Why};
use super::provider::{Part, Provider};
use crate::store::live::{self, Live, Range};
use crate::store::{Name, Partition, Place};
use anyhow::{Context, Result, anyhow, bail, ensure};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use futures::TryStreamExt;
use heapwise_tables::{TABLES, Table};
use object_store::ObjectMeta;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What a query may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Bytes that sorting, joining and grouping may hold. What needs more goes to temporary files.
    pub(crate) memory: u64,
    /// How many cores work on it.
    pub(crate) threads: usize,
}

/// Fleets that queries can be asked of.
#[derive(Debug)]
pub(crate) struct Session {
    places: Vec<Place>,
    range: Range,
    settings: Settings,
    runtime: Arc<RuntimeEnv>,
}

/// What a query found.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    /// Files that were left out.
    pub(crate) left: Vec<Left>,
    /// Fleets without recordings in the range.
    pub(crate) empty: Vec<String>,
}

/// The files of one table that are read, for each fleet.
struct Files {
    table: &'static Table,
    of_places: Vec<Vec<(Name, ObjectMeta)>>,
}

/// How often a query is asked: files may go while it reads them, and some may turn out to be damaged.
const MOST_ATTEMPTS: usize = 5;
/// How often a fleet may change while its files are looked at.
const MOST_CHANGES: usize = 100;
/// Of more bytes no answer is held: it is read by people.
const MOST_ANSWER_BYTES: usize = 1 << 30;

impl Session {
    /// # Errors
    /// If the folder of temporary files cannot be made.
    pub(crate) fn new(places: Vec<Place>, range: Range, settings: Settings) -> Result<Self> {
        let memory = usize::try_from(settings.memory).unwrap_or(usize::MAX);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
            .with_metadata_cache_limit(memory / 4)
            .with_disk_manager_builder(
                DiskManagerBuilder::default().with_mode(DiskManagerMode::OsTmpDirectory),
            )
            .build_arc()
            .context("cannot start the engine")?;
        for (at, place) in places.iter().enumerate() {
            runtime.register_object_store(url(at)?.as_ref(), Arc::clone(place.store()));
        }
        Ok(Self { places, range, settings, runtime })
    }

    /// Asks in SQL, which can only read. `parameters` are the values of `$name`.
    ///
    /// # Errors
    /// If the query is wrong, or something cannot be read that is no single file.
    pub(crate) async fn ask(&self, sql: &str, parameters: &[(String, ScalarValue)]) -> Result<Answer> {
        let tables = self.tables_in(sql)?;
        let mut damaged: BTreeMap<String, Left> = BTreeMap::new();
        for attempt in 1.. {
            let (mut files, mut left, empty) = self.files(&tables).await?;
            for table in &mut files {
                for (place, files) in self.places.iter().zip(&mut table.of_places) {
                    files.retain(|(_, meta)| {
                        !damaged.contains_key(&check::shown(place, meta.location.as_ref()))
                    });
                }
            }
            left.extend(damaged.values().cloned());
            let error = match self.run(sql, parameters, &files).await {
                Ok((schema, batches)) => return Ok(Answer { schema, batches, left, empty }),
                Err(error) if attempt >= MOST_ATTEMPTS => return Err(error),
                Err(error) => error,
            };
            if error.chain().any(check::is_not_found) {
                // Compacted in the meantime: the rows are in another file now.
                continue;
            }
            let before = damaged.len();
            for table in &files {
                for (place, files) in self.places.iter().zip(&table.of_places) {
                    let found = check::values(place, files).await;
                    damaged.extend(found.into_iter().map(|left| (left.path.clone(), left)));
                }
            }
            if damaged.len() == before {
                return Err(error);
            }
        }
        bail!("no attempt was made")
    }

    /// Which files of a table cannot be read, of those of a day and service in the first fleet; with `all`, what they hold is read, too.
    ///
    /// # Errors
    /// If the table cannot be listed.
    pub(crate) async fn unreadable(
        &self,
        table: &'static Table,
        partition: &Partition,
        names: &[Name],
        all: bool,
    ) -> Result<Vec<Left>> {
        let place = &self.places[0];
        let checked = self.checked(place, table, partition, names).await?;
        let mut left: Vec<Left> = checked.left.into_iter().filter(|left| left.name.is_some()).collect();
        if all {
            left.extend(check::values(place, &checked.files).await);
        }
        Ok(left)
    }

    /// Rows of a table, of these files in the first fleet.
    ///
    /// # Errors
    /// If one of them cannot be read, or the query is wrong.
    pub(crate) async fn rows(
        &self,
        table: &'static Table,
        partition: &Partition,
        names: &[Name],
        sql: &str,
    ) -> Result<SendableRecordBatchStream> {
        let checked = self.checked(&self.places[0], table, partition, names).await?;
        if let Some(left) = checked.left.iter().find(|left| left.name.is_some()) {
            bail!("{}: {}", left.path, left.why);
        }
        let context = self.context();
        let part = Part::new(url(0)?, checked.files);
        context.register_table(table.name, Arc::new(Provider::new(table, vec![part])?))?;
        let frame = self.plan(&context, sql, &[]).await?;
        frame.execute_stream().await.map_err(failed)
    }

    /// The files of these names, which are all of one day and service.
    async fn checked(
        &self,
        place: &Place,
        table: &'static Table,
        partition: &Partition,
        names: &[Name],
    ) -> Result<Checked> {
        let found = live::list(place, table.name, &Range::of(partition)).await?;
        Ok(check::footers(place, table, names.iter(), found, &self.runtime).await)
    }

    /// The tables that a query names.
    fn tables_in(&self, sql: &str) -> Result<Vec<&'static Table>> {
        let context = self.context();
        let state = context.state();
        let wrong = |error: DataFusionError| anyhow!("the query is wrong: {}", said(&error));
        let statement =
            state.sql_to_statement(sql, &state.config_options().sql_parser.dialect).map_err(wrong)?;
        let names: HashSet<String> = state
            .resolve_table_references(&statement)
            .map_err(wrong)?
            .iter()
            .map(|one| one.table().to_owned())
            .collect();
        Ok(TABLES.iter().copied().filter(|table| names.contains(table.name)).collect())
    }

    fn context(&self) -> SessionContext {
        let mut config =
            SessionConfig::new().with_target_partitions(self.settings.threads).with_information_schema(true);
        let options = config.options_mut();
        // Rows that a filter refuses are not decoded.
        options.execution.parquet.pushdown_filters = true;
        options.execution.parquet.reorder_filters = true;
        SessionContext::new_with_config_rt(config, Arc::clone(&self.runtime))
    }

    /// What is read for these tables, and what is not. All tables are of the same moment.
    async fn files(&self, tables: &[&'static Table]) -> Result<(Vec<Files>, Vec<Left>, Vec<String>)> {
        let mut files: Vec<Files> =
            tables.iter().map(|&table| Files { table, of_places: Vec::new() }).collect();
        let (mut left, mut empty) = (Vec::new(), Vec::new());
        for place in self.places.iter().filter(|_| !tables.is_empty()) {
            let (checked, is_empty) = self.of_place(place, tables).await?;
            empty.extend(is_empty.then(|| place.to_string()));
            for (table, checked) in files.iter_mut().zip(checked) {
                table.of_places.push(checked.files);
                left.extend(checked.left);
            }
        }
        Ok((files, left, empty))
    }

    /// The same for one fleet: for each table what its files are, and whether there are no recordings.
    async fn of_place(&self, place: &Place, tables: &[&'static Table]) -> Result<(Vec<Checked>, bool)> {
        for _ in 0..MOST_CHANGES {
            let live = Live::read(place, &self.range).await?;
            let mut all = Vec::new();
            for table in tables {
                let found = live::list(place, table.name, &self.range).await?;
                all.push(check::footers(place, table, live.names.iter(), found, &self.runtime).await);
            }
            // What is missing may have been compacted in the meantime.
            let is_missing =
                all.iter().flat_map(|checked| &checked.left).any(|left| left.why == Why::Missing);
            if !is_missing || live.is_newest(place).await? {
                return Ok((all, live.names.is_empty()));
            }
        }
        bail!("{place} changed {MOST_CHANGES} times while it was read: repeat this when less is compacted")
    }

    async fn run(
        &self,
        sql: &str,
        parameters: &[(String, ScalarValue)],
        files: &[Files],
    ) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let context = self.context();
        for table in files {
            let part = |(at, files): (usize, &Vec<_>)| Ok(Part::new(url(at)?, files.clone()));
            let parts: Result<Vec<Part>> = table.of_places.iter().enumerate().map(part).collect();
            context.register_table(table.table.name, Arc::new(Provider::new(table.table, parts?)?))?;
        }
        // A query that names no table of a fleet is answered, too: the others are there for `describe`.
        for table in TABLES.iter().filter(|table| files.iter().all(|one| one.table.name != table.name)) {
            context.register_table(table.name, Arc::new(Provider::new(table, Vec::new())?))?;
        }
        let frame = self.plan(&context, sql, parameters).await?;
        let schema = Arc::clone(frame.schema().inner());
        let mut stream = frame.execute_stream().await.map_err(failed)?;
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = stream.try_next().await.map_err(failed)? {
            bytes += batch.get_array_memory_size();
            ensure!(
                bytes <= MOST_ANSWER_BYTES,
                "the answer has more than {} MiB: ask for less, for instance with `limit`",
                MOST_ANSWER_BYTES >> 20
            );
            batches.push(batch);
        }
        Ok((schema, batches))
    }

    async fn plan(
        &self,
        context: &SessionContext,
        sql: &str,
        parameters: &[(String, ScalarValue)],
    ) -> Result<DataFrame> {
        let read_only =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let frame = context.sql_with_options(sql, read_only).await.map_err(|error| {
            if let DataFusionError::Plan(text) = error.find_root()
                && text.contains("not supported")
            {
                return anyhow!("queries can only read: {text}");
            }
            anyhow!("the query is wrong: {}", said(&error))
        })?;
        if parameters.is_empty() {
            return Ok(frame);
        }
        let values = parameters.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        frame
            .with_param_values(ParamValues::Map(values))
            .map_err(|error| anyhow!("the query is wrong: {}", said(&error)))
    }
}

/// The engine's name of the store of a fleet.
fn url(at: usize) -> Result<ObjectStoreUrl> {
    Ok(ObjectStoreUrl::parse(format!("fleet://{at}"))?)
}

fn failed(error: DataFusionError) -> anyhow::Error {
    let text = said(&error);
    anyhow::Error::new(error).context(format!("the query failed: {text}"))
}

/// What the engine says, in one line and without its own words for it.
fn said(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    text.lines().next().unwrap_or_default().trim().to_owned()
}
