//! The engine with the tables that a query names, within its limits.

use super::check::{self, Checked, For, Left, Why};
use super::errors::{Failed, failed, is_exhausted, is_of_connection, is_of_decoding, said};
use super::limits::{Effort, Engines, Settings};
use super::provider::{Part, Provider};
use crate::cluster::Workers;
use crate::store::live::{self, Live, Range};
use crate::store::{Name, Partition, Place};
use anyhow::{Result, anyhow, bail, ensure};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{DataFrame, SessionContext};
use futures::TryStreamExt;
use heapwise_tables::{TABLES, Table};
use object_store::ObjectMeta;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Fleets that queries can be asked of.
#[derive(Debug)]
pub(crate) struct Session {
    places: Vec<Place>,
    range: Range,
    engines: Engines,
    /// Those that answer parts of questions; none if all is done here.
    workers: Option<Workers>,
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

/// How often a fleet may change while its files are looked at, or read.
const MOST_CHANGES: usize = 100;
/// How often connections to workers may break that answer afterwards, or files may be missing there.
const MOST_BROKEN: usize = 2;
/// Rows times columns of an answer, which is held as a whole: it is read by people.
const MOST_CELLS: usize = 5_000_000;

impl Session {
    /// # Errors
    /// If the folder of temporary files cannot be made.
    pub(crate) fn new(
        places: Vec<Place>,
        range: Range,
        settings: Settings,
        workers: Option<Workers>,
    ) -> Result<Self> {
        let engines = Engines::new(settings)?;
        for place in &places {
            engines.register(&place.url()?, place.store());
        }
        Ok(Self { places, range, engines, workers })
    }

    /// Asks in SQL, which can only read. `parameters` are the values of `$name`, which are text.
    ///
    /// # Errors
    /// If the query is wrong, or something cannot be read that is no single file.
    pub(crate) async fn ask(&self, sql: &str, parameters: &[(String, String)]) -> Result<Answer> {
        let tables = self.tables_in(sql)?;
        // Before anything is listed: a query that is wrong is wrong without rows, too.
        self.plan(&self.with_tables(self.engines.context(Effort::Quick), &[])?, sql, parameters).await?;
        let mut damaged: BTreeMap<String, Left> = BTreeMap::new();
        let mut effort = Effort::Quick;
        let mut broken = 0;
        for _ in 0..MOST_CHANGES {
            let workers = self.workers.as_ref().filter(|_| effort == Effort::Quick);
            let reached = match workers {
                Some(workers) => Some(workers.reach(&self.fleets()).await?),
                None => None,
            };
            let context = match &reached {
                Some(reached) => self.engines.spread(reached.clone())?,
                None => self.engines.context(effort),
            };
            let (mut files, mut left, empty) = self.files(&tables).await?;
            for table in &mut files {
                for (place, files) in self.places.iter().zip(&mut table.of_places) {
                    files.retain(|(_, meta)| {
                        !damaged.contains_key(&check::shown(place, meta.location.as_ref()))
                    });
                }
            }
            left.extend(damaged.values().cloned());
            let error = match self.run(context, sql, parameters, &files).await {
                Ok((schema, batches)) => return Ok(Answer { schema, batches, left, empty }),
                Err(error) => error,
            };
            let Some(Failed(cause)) = error.downcast_ref::<Failed>() else { return Err(error) };
            if reached.is_some() && check::is_not_found(cause) {
                broken += 1;
                if broken > MOST_BROKEN {
                    return Err(error.context(
                        "a worker does not find a file, several times: all machines need the same folder, which they share, or a \
                         store; if the fleet is compacted, repeat this later",
                    ));
                }
            }
            if check::is_not_found(cause) {
                // Compacted in the meantime: the rows are in another file now.
                continue;
            }
            if let (Some(workers), Some(reached)) = (workers, &reached)
                && workers.has_lost(reached).await
            {
                // Those that are left are asked.
                continue;
            }
            if reached.is_some() && is_of_connection(cause) {
                broken += 1;
                if broken > MOST_BROKEN {
                    return Err(error.context(
                        "workers do not reach each other, or end: name them as all machines reach them",
                    ));
                }
                continue;
            }
            if is_exhausted(cause) {
                if effort == Effort::Frugal {
                    return Err(
                        error.context("--memory allows too little for this, with temporary files, too")
                    );
                }
                effort = Effort::Frugal;
                continue;
            }
            let before = damaged.len();
            if is_of_decoding(cause) {
                for table in &files {
                    for (place, files) in self.places.iter().zip(&table.of_places) {
                        let found = check::values(place, files).await?;
                        damaged.extend(found.into_iter().map(|left| (left.path.clone(), left)));
                    }
                }
            }
            if damaged.len() == before {
                return Err(error);
            }
        }
        bail!("the fleet changed {MOST_CHANGES} times while it was asked: repeat this when less is compacted")
    }

    /// The files of recordings of a day and service in a table of the first fleet, and which of them cannot be written anew.
    ///
    /// # Errors
    /// If the table cannot be listed.
    pub(crate) async fn to_compact(
        &self,
        table: &'static Table,
        partition: &Partition,
        names: &[Name],
    ) -> Result<Checked> {
        let place = &self.places[0];
        let found = live::list(place, table.name, &Range::of(partition)).await?;
        let engine = self.engines.engine(Effort::Frugal);
        let mut checked = check::footers(For::Compacting, place, table, names.iter(), found, engine).await?;
        // What has another name is none of these.
        checked.left.retain(|left| left.name.is_some());
        Ok(checked)
    }

    /// Rows of a table, of these files in the first fleet.
    ///
    /// # Errors
    /// If the query is wrong. Files that cannot be read are errors of the stream.
    pub(crate) async fn rows(
        &self,
        table: &'static Table,
        files: &[(Name, ObjectMeta)],
        sql: &str,
    ) -> Result<SendableRecordBatchStream> {
        let context = self.engines.context(Effort::Frugal);
        let part = Part::new(self.places[0].url()?, files.to_vec());
        context.register_table(table.name, Arc::new(Provider::new(table, vec![part])?))?;
        let frame = self.plan(&context, sql, &[]).await?;
        frame.execute_stream().await.map_err(failed)
    }

    /// Which files of the first fleet have values that cannot be read.
    ///
    /// # Errors
    /// If a store or a disk fails.
    pub(crate) async fn damaged(&self, files: &[(Name, ObjectMeta)]) -> Result<Vec<Left>> {
        check::values(&self.places[0], files).await
    }

    /// The tables that a query names.
    fn tables_in(&self, sql: &str) -> Result<Vec<&'static Table>> {
        let context = self.engines.context(Effort::Quick);
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
                all.push(
                    check::footers(
                        For::Reading,
                        place,
                        table,
                        live.names.iter(),
                        found,
                        self.engines.engine(Effort::Quick),
                    )
                    .await?,
                );
            }
            // What is missing may have been compacted in the meantime. Nothing says what is missing of a sparse table.
            let is_missing = tables.iter().any(|table| table.is_sparse)
                || all.iter().flat_map(|checked| &checked.left).any(|left| left.why == Why::Missing);
            if !is_missing || live.is_newest(place).await? {
                return Ok((all, live.names.is_empty()));
            }
        }
        bail!("{place} changed {MOST_CHANGES} times while it was read: repeat this when less is compacted")
    }

    async fn run(
        &self,
        context: SessionContext,
        sql: &str,
        parameters: &[(String, String)],
        files: &[Files],
    ) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let context = self.with_tables(context, files)?;
        let frame = self.plan(&context, sql, parameters).await?;
        let schema = Arc::clone(frame.schema().inner());
        let mut stream = frame.execute_stream().await.map_err(failed)?;
        let (mut batches, mut cells) = (Vec::new(), 0);
        while let Some(batch) = stream.try_next().await.map_err(failed)? {
            cells += batch.num_rows() * batch.num_columns().max(1);
            ensure!(
                cells <= MOST_CELLS,
                "the answer has more than {} million values: ask for less, for instance with `limit`",
                MOST_CELLS / 1_000_000
            );
            batches.push(batch);
        }
        Ok((schema, batches))
    }

    /// What the fleets are called, and their ids.
    fn fleets(&self) -> Vec<(String, String)> {
        self.places.iter().map(|place| (place.to_string(), place.id())).collect()
    }

    /// An engine with all tables. Those that are not among the files have no rows.
    fn with_tables(&self, context: SessionContext, files: &[Files]) -> Result<SessionContext> {
        for table in TABLES {
            let mut parts = Vec::new();
            for of_table in files.iter().filter(|one| one.table.name == table.name) {
                for (place, files) in self.places.iter().zip(&of_table.of_places) {
                    parts.push(Part::new(place.url()?, files.clone()));
                }
            }
            context.register_table(table.name, Arc::new(Provider::new(table, parts)?))?;
        }
        Ok(context)
    }

    async fn plan(
        &self,
        context: &SessionContext,
        sql: &str,
        parameters: &[(String, String)],
    ) -> Result<DataFrame> {
        let read_only =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let frame = context.sql_with_options(sql, read_only).await.map_err(|error| {
            if let DataFusionError::Plan(text) = error.find_root()
                && ["DDL ", "DML ", "Statement "].iter().any(|kind| text.starts_with(kind))
            {
                return anyhow!("queries can only read: {text}");
            }
            anyhow!("the query is wrong: {}", said(&error))
        })?;
        if parameters.is_empty() {
            return Ok(frame);
        }
        let text = |value: &String| ScalarValue::from(value.as_str()).into();
        let values = parameters.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        frame
            .with_param_values(ParamValues::Map(values))
            .map_err(|error| anyhow!("the query is wrong: {}", said(&error)))
    }
}
