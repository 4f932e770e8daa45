//! A recording that becomes tables.

use crate::history::Follower;
use crate::id::Id;
use crate::labels::Labels;
use crate::layout;
use crate::prediction::Prediction;
use crate::rows::Rows;
use crate::source::Source;
use crate::stacks::Stacks;
use crate::table::Table;
use crate::tables::TABLES;
use heapwise_analysis::{Analysis, Error, Options, observe};
use heapwise_diagnosis::Diagnosis;
use heapwise_trace::file::Reader;
use std::io::{self, Read};

/// One recording, before it is written as tables.
#[derive(Debug)]
pub struct Recording<'a> {
    /// Its id in all tables.
    id: Id,
    analysis: &'a Analysis,
    stacks: Stacks<'a>,
    histories: Option<Follower>,
    predictions: Vec<Prediction>,
}

/// One table of one recording.
#[derive(Clone, Debug)]
pub struct TableFile {
    pub table: &'static Table,
    /// Its name below the folder of all tables, with slashes.
    pub name: String,
    /// A whole Parquet file.
    pub bytes: Vec<u8>,
    pub rows: usize,
}

impl<'a> Recording<'a> {
    /// A recording that was read.
    pub fn new(analysis: &'a Analysis) -> Self {
        let id = Id::of(&[&analysis.identity()]);
        Self { id, analysis, stacks: Stacks::new(analysis, id), histories: None, predictions: Vec::new() }
    }

    /// Reads the same recording once more, for the live bytes of its largest sites over time. Without that `site_samples` is empty.
    /// `memory` is how many bytes that may take; see [`Options::memory`].
    ///
    /// # Errors
    /// If the stream cannot be read.
    pub fn follow<R: Read + Send>(
        &mut self,
        reader: Reader<R>,
        memory: Option<u64>,
        progress: impl FnMut(u64),
    ) -> Result<(), Error> {
        let mut follower = Follower::new(self.analysis, &self.stacks);
        let mut options = Options::default();
        (options.ignore_symbols, options.memory) = (true, memory);
        observe(reader, &options, &mut follower, progress)?;
        self.histories = Some(follower.finish(self.analysis.duration));
        Ok(())
    }

    /// Adds what replays said of it. Without them there is no file of `predictions`.
    pub fn predict(&mut self, predictions: Vec<Prediction>) {
        self.predictions = predictions;
    }

    /// All tables in which it has a file, `recordings` first.
    ///
    /// # Errors
    /// If a table cannot be encoded.
    pub fn tables(&self, diagnosis: &Diagnosis, labels: &Labels) -> io::Result<Vec<TableFile>> {
        let source = Source {
            analysis: self.analysis,
            diagnosis,
            labels,
            recording: self.id,
            stacks: &self.stacks,
            histories: self.histories.as_ref(),
            predictions: &self.predictions,
        };
        let files = TABLES.iter().map(|table| file(table, &source));
        files.filter(|file| !file.as_ref().is_ok_and(|file| file.table.is_sparse && file.rows == 0)).collect()
    }
}

fn file(table: &'static Table, source: &Source<'_>) -> io::Result<TableFile> {
    let mut rows = Rows::new(table.name, table.columns);
    (table.fill)(source, &mut rows);
    let started = source.analysis.meta.started_unix_ns;
    let name = layout::name(table.name, started, source.labels, source.recording);
    Ok(TableFile { table, name, rows: rows.len(), bytes: rows.into_parquet()? })
}
