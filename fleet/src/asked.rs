//! What a question is asked of, and how its answer is shown: what `heapwise query` and `heapwise fleet ask` have in common.

pub(crate) use crate::answer::About;
use crate::answer::{self, Grid};
use crate::engine::{Left, Session};
use crate::failure::{Failure, UNREADABLE, USAGE};
use crate::given;
use crate::ingest::{self, Exporter, How};
use crate::store::Place;
use anyhow::{Context, anyhow};
use heapwise_report::escape::terminal;
use heapwise_report::say;
use heapwise_tables::words::{AskingArgs, Format};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Fleets that are open, and the tables that were made of recordings for this question only.
#[derive(Debug)]
pub(crate) struct Asked {
    session: Session,
    /// Recordings that could not be read.
    unread: Vec<Left>,
    /// Removed when the question is answered.
    _made: Option<TempDir>,
}

/// How many files that were left out are named on a terminal.
const MOST_NAMED: usize = 10;

impl Asked {
    /// Opens what was named. Recordings become tables in a folder of their own.
    ///
    /// # Errors
    /// If something cannot be opened, or none of the recordings can be read.
    pub(crate) async fn open(
        named: &[String],
        asking: &AskingArgs,
        exporter: &Exporter,
    ) -> Result<Self, Failure> {
        let (recordings, fleets): (Vec<_>, Vec<_>) = named.iter().partition(|name| Path::new(name).is_file());
        let mut places = Place::open_all(fleets)?;
        let (mut made, mut unread) = (None, Vec::new());
        if !recordings.is_empty() && !asking.workers.is_empty() {
            let error =
                anyhow!("workers read fleets, and no recordings: `heapwise fleet ingest` adds these to one");
            return Err(Failure::new(USAGE, error));
        }
        if !recordings.is_empty() {
            let folder =
                tempfile::Builder::new().prefix("heapwise-").tempdir().context("cannot make a folder")?;
            let place = Place::open(&folder.path().to_string_lossy())?;
            let files: Vec<PathBuf> = recordings.iter().map(PathBuf::from).collect();
            let added = ingest::add(&files, &place, &How::default(), exporter).await?;
            let is_nothing = added.is_nothing();
            unread = added.unread;
            if is_nothing {
                warn(&unread);
                return Err(Failure::new(UNREADABLE, anyhow!("none of the recordings could be read")));
            }
            places.push(place);
            made = Some(folder);
        }
        let session = Session::new(
            places,
            given::range(&asking.range),
            given::settings(asking.limits),
            given::workers(asking)?,
        )?;
        Ok(Self { session, unread, _made: made })
    }

    /// For questions about what there is to be asked.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Asks, prints the answer, and warns about what is not in it. The exit code says so, too.
    ///
    /// # Errors
    /// If the question is wrong, or its answer cannot be printed.
    pub(crate) async fn answer(
        &self,
        about: About<'_>,
        values: &[(String, String)],
        format: Format,
        has_units: bool,
    ) -> Result<u8, Failure> {
        let answer = self.session.ask(about.sql, values).await?;
        let grid = Grid::new(&answer.schema, &answer.batches)?;
        let left: Vec<Left> = answer.left.into_iter().chain(self.unread.iter().cloned()).collect();
        match format {
            Format::Text => terminal::print(&answer::text(&grid, has_units, terminal_width()), false)?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&answer::json(about.question, &grid, &left))?;
                terminal::put_out(format!("{}\n", terminal::json(&text)).as_bytes())?;
            }
            Format::Markdown => terminal::print(&answer::markdown(about, &grid, &left), false)?,
            Format::Html => terminal::put_out(answer::html(about, &grid, &left).as_bytes())?,
        }
        for place in &answer.empty {
            say!(
                "heapwise: warning: {place} has no recordings, or none of those days and services: `heapwise fleet ingest` adds some"
            );
        }
        warn(&left);
        Ok(if left.is_empty() { 0 } else { UNREADABLE })
    }
}

/// Names what was left out, and counts it if that is much.
fn warn(left: &[Left]) {
    for left in left.iter().take(MOST_NAMED) {
        say!("heapwise: warning: {} is left out: {}", left.path, left.why);
    }
    if left.len() > MOST_NAMED {
        say!("heapwise: warning: {} files are left out, {MOST_NAMED} of which are named", left.len());
    }
}

/// Columns of the terminal; none where output goes elsewhere.
fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| usize::from(width))
}
