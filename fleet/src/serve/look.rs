//! What pages ask for.

use crate::answer::{Column, Grid, shown};
use crate::engine::Session;
use anyhow::Result;
use heapwise_report::document::{Cell, Document, Section, Words};
use heapwise_tables::words::RangeArgs;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// What the address of a page has: names and values.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Those of the path come first, so that none behind the question mark takes their place.
    pub(super) fn new(path: Vec<(String, String)>, query: Vec<(String, String)>) -> Self {
        Self(path.into_iter().chain(query).collect())
    }
}

/// The fleets, for one page.
#[derive(Debug)]
pub(super) struct Look<'a> {
    pub(super) session: &'a Session,
    pub(super) range: &'a RangeArgs,
    parameters: Parameters,
    caveats: Mutex<BTreeSet<String>>,
}

/// Rows of an answer, whose columns are found by name.
#[derive(Debug)]
pub(super) struct Rows(Grid);

#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    columns: &'a [Column],
    values: &'a [Value],
}

impl<'a> Look<'a> {
    pub(super) fn new(session: &'a Session, range: &'a RangeArgs, parameters: Parameters) -> Self {
        Self { session, range, parameters, caveats: Mutex::default() }
    }

    /// Puts `folder` before all parameters: where the tables have the files of the page's service, if it has one.
    ///
    /// # Errors
    /// If the fleet cannot be asked.
    pub(super) async fn find_folder(&mut self) -> Result<()> {
        const FOLDER: &str = "select min(service) as service from recordings where service_name = $service";
        let service = self.parameter("service").to_owned();
        if service.is_empty() {
            return Ok(());
        }
        let found = self.rows(FOLDER, &[("service", &service)]).await?;
        let folder = found.first().map(|row| row.text("service").to_owned()).unwrap_or_default();
        self.parameters.0.insert(0, ("folder".to_owned(), folder));
        Ok(())
    }

    /// What the address says; nothing if it does not.
    pub(super) fn parameter(&self, name: &str) -> &str {
        self.parameters.0.iter().find(|(there, _)| there == name).map_or("", |(_, value)| value)
    }

    pub(super) fn parameters(&self) -> &[(String, String)] {
        &self.parameters.0
    }

    /// # Errors
    /// If the question cannot be answered. What is left out is on the page.
    pub(super) async fn rows(&self, sql: &str, values: &[(&str, &str)]) -> Result<Rows> {
        let values: Vec<(String, String)> =
            values.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let answer = self.session.ask(sql, &values).await?;
        let left = answer.left.iter().map(|left| format!("{} is left out: {}", left.path, left.why));
        self.caveats.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
        Ok(Rows(Grid::new(&answer.schema, &answer.batches)?))
    }

    /// The page with what was left out of it.
    pub(super) fn with_caveats(&self, mut document: Document) -> Document {
        let caveats = std::mem::take(&mut *self.caveats.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(section) = Section::caveats(caveats) {
            document.sections.insert(0, section);
        }
        document
    }
}

impl Rows {
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.0.rows.iter().map(|values| Row { columns: &self.0.columns, values })
    }

    pub(super) fn first(&self) -> Option<Row<'_>> {
        self.iter().next()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.rows.is_empty()
    }
}

impl<'a> Row<'a> {
    fn at(self, name: &str) -> Option<(&'a Column, &'a Value)> {
        self.columns.iter().zip(self.values).find(|(column, _)| column.name == name)
    }

    /// Nothing if it is none.
    pub(super) fn text(self, name: &str) -> &'a str {
        self.at(name).and_then(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// 0 if it is none.
    pub(super) fn number(self, name: &str) -> f64 {
        self.at(name).and_then(|(_, value)| value.as_f64()).unwrap_or(0.0)
    }

    pub(super) fn texts(self, name: &str) -> Vec<&'a str> {
        let list = self.at(name).and_then(|(_, value)| value.as_array());
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// As it is shown, with its unit.
    pub(super) fn shown(self, name: &str) -> String {
        self.at(name).map(|(column, value)| shown(column, value, true)).unwrap_or_default()
    }

    pub(super) fn is_known(self, name: &str) -> bool {
        self.at(name).is_some_and(|(_, value)| !value.is_null())
    }

    /// A cell of a table.
    pub(super) fn cell(self, name: &str) -> Cell {
        match self.at(name) {
            None | Some((_, Value::Null)) => Cell::nothing(),
            Some((_, Value::Number(_))) => Cell::number(self.shown(name)),
            Some(_) => Cell::text(Words::name(self.shown(name))),
        }
    }
}
