//! `heapwise query`: a question in SQL about recordings or tables of them.

use crate::answer::{self, About, Grid};
use crate::args::{Format, LimitArgs, QueryArgs, RangeArgs};
use crate::ask::Question;
use crate::engine::{Answer, Left, Session, Settings};
use crate::failure::{Failure, UNREADABLE, USAGE};
use crate::ingest::{self, Exporter};
use crate::store::Place;
use crate::store::live::Range;
use anyhow::Context;
use datafusion::common::ScalarValue;
use heapwise_report::escape::terminal;
use heapwise_report::say;
use std::io::IsTerminal;
use std::path::Path;
use tempfile::TempDir;

pub(crate) async fn query(args: &QueryArgs, exporter: &Exporter) -> Result<u8, Failure> {
    let needed = Question::new(&args.sql).parameters;
    if let Some(name) = needed.iter().find(|needed| args.set.iter().all(|(name, _)| name != *needed)) {
        let error = anyhow::anyhow!("the question needs ${name}: give it with --set {name}=VALUE");
        return Err(Failure::new(USAGE, error));
    }
    let asked = Asked::open(&args.places, &args.range, args.limits, exporter).await?;
    let values: Vec<(String, ScalarValue)> =
        args.set.iter().map(|(name, value)| (name.clone(), ScalarValue::from(value.as_str()))).collect();
    let answer = asked.ask(&args.sql, &values).await?;
    let grid = Grid::new(&answer.schema, &answer.batches)?;
    let about = About { title: "heapwise query", question: &args.sql, sql: &args.sql };
    show(about, &grid, &answer, args.format, false)
}

/// Fleets that are open, and the tables that were made of recordings for this question only.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) session: Session,
    /// Recordings that could not be read.
    unread: Vec<Left>,
    /// Removed when the question is answered.
    _made: Option<TempDir>,
}

impl Asked {
    /// Opens what was named. Recordings become tables in a folder of their own.
    ///
    /// # Errors
    /// If something cannot be opened, or none of the recordings can be read.
    pub(crate) async fn open(
        named: &[String],
        range: &RangeArgs,
        limits: LimitArgs,
        exporter: &Exporter,
    ) -> Result<Self, Failure> {
        let (recordings, fleets): (Vec<_>, Vec<_>) = named.iter().partition(|name| Path::new(name).is_file());
        let mut places = Vec::new();
        for name in fleets {
            let place = Place::open(name)?;
            if !places.iter().any(|other: &Place| other.is(&place)) {
                places.push(place);
            }
        }
        let (mut made, mut unread) = (None, Vec::new());
        if !recordings.is_empty() {
            let folder =
                tempfile::Builder::new().prefix("heapwise-").tempdir().context("cannot make a folder")?;
            let place = Place::open(&folder.path().to_string_lossy())?;
            let files: Vec<_> = recordings.iter().map(|name| Path::new(name).to_path_buf()).collect();
            let added = ingest::add(&files, &place, &[], exporter).await?;
            unread.clone_from(&added.unread);
            if added.is_nothing() {
                for left in &unread {
                    say!("heapwise: warning: {} is left out: {}", left.path, left.why);
                }
                let error = anyhow::anyhow!("none of the recordings could be read");
                return Err(Failure::new(UNREADABLE, error));
            }
            places.push(place);
            made = Some(folder);
        }
        let session = Session::new(places, range_of(range), settings(limits))?;
        Ok(Self { session, unread, _made: made })
    }

    /// Asks them.
    ///
    /// # Errors
    /// As [`Session::ask`].
    pub(crate) async fn ask(&self, sql: &str, values: &[(String, ScalarValue)]) -> anyhow::Result<Answer> {
        let mut answer = self.session.ask(sql, values).await?;
        answer.left.extend(self.unread.iter().cloned());
        Ok(answer)
    }
}

pub(crate) fn range_of(args: &RangeArgs) -> Range {
    Range {
        services: args.service.iter().map(|name| heapwise_tables::escaped(name)).collect(),
        since: args.since.clone(),
        until: args.until.clone(),
    }
}

pub(crate) fn settings(limits: LimitArgs) -> Settings {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = match limits.memory {
        Some(mib) => mib << 20,
        None => heapwise_environment::available_memory()
            .map_or(DEFAULT_MEMORY, |free| (free / 4).max(LEAST_MEMORY)),
    };
    Settings { memory, threads: limits.threads.map_or(cores, usize::from) }
}

/// Where it is not known how much is free.
const DEFAULT_MEMORY: u64 = 1 << 30;
/// With less, sorting cannot begin.
const LEAST_MEMORY: u64 = 64 << 20;
/// How many files that were left out are named on a terminal.
const MOST_NAMED: usize = 10;

/// Prints an answer, and warns about what is not in it. The exit code says so, too.
pub(crate) fn show(
    about: About<'_>,
    grid: &Grid,
    answer: &Answer,
    format: Format,
    has_units: bool,
) -> Result<u8, Failure> {
    match format {
        Format::Text => {
            let text = answer::text(grid, has_units, terminal_width());
            terminal::print(&text, false)?;
        }
        Format::Json => {
            let text = serde_json::to_string_pretty(&answer::json(about.question, grid, &answer.left))?;
            terminal::put_out(format!("{}\n", terminal::json(&text)).as_bytes())?;
        }
        Format::Markdown => terminal::print(&answer::markdown(about, grid, &answer.left), false)?,
        Format::Html => terminal::put_out(answer::html(about, grid, &answer.left).as_bytes())?,
    }
    for place in &answer.empty {
        say!(
            "heapwise: warning: {place} has no recordings, or none of those days and services: `heapwise fleet ingest` adds some"
        );
    }
    let left = &answer.left;
    for left in left.iter().take(MOST_NAMED) {
        say!("heapwise: warning: {} is left out: {}", left.path, left.why);
    }
    if left.len() > MOST_NAMED {
        say!("heapwise: warning: {} files are left out, {MOST_NAMED} of which are named", left.len());
    }
    Ok(if left.is_empty() { 0 } else { UNREADABLE })
}

/// Columns of the terminal; none where output goes elsewhere.
fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| usize::from(width))
}
