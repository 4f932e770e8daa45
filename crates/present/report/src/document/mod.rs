//! What reports of measurements have in common: a heading, how it was done, tables, what to mind, and what it means.
//!
//! Whoever has measured something puts it into a [`Document`], and gets it for a terminal, for a pull request and for a
//! browser. Texts are put in as they are; each way of showing them makes them harmless for itself.

// Only replays have pictures, and they are Linux's.
#[cfg(target_os = "linux")]
mod figure;
#[cfg(target_os = "linux")]
mod html;
mod markdown;
mod sentence;
mod text;

#[cfg(target_os = "linux")]
pub(crate) use figure::{Figure, Picture, Row};
#[cfg(target_os = "linux")]
pub(crate) use html::html;
pub(crate) use markdown::markdown;
pub(crate) use text::text;

/// A document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    /// What was called, such as `heapwise lab debug-heap`.
    pub(crate) title: String,
    /// What it shows.
    pub(crate) lead: String,
    /// How it was done, a line each.
    pub(crate) setup: Vec<String>,
    pub(crate) tables: Vec<Table>,
    /// Pictures, for a browser.
    #[cfg(target_os = "linux")]
    pub(crate) figures: Vec<Figure>,
    /// What makes the numbers worth less.
    pub(crate) caveats: Vec<String>,
    /// What it means and what to do.
    pub(crate) conclusion: Vec<String>,
    /// What to paste.
    pub(crate) snippets: Vec<Snippet>,
}

/// Lines to be pasted somewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snippet {
    /// Where they go.
    pub(crate) title: String,
    /// The language; none for sentences.
    pub(crate) language: Option<&'static str>,
    pub(crate) lines: Vec<String>,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// What the title does not say.
    pub(crate) aside: String,
    /// For who wants to look closer; not for a terminal.
    pub(crate) is_detail: bool,
    pub(crate) columns: Vec<Column>,
    /// The rows; each has a cell for each column.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Further rows, folded where something can be folded. A terminal says how many there are in JSON.
    pub(crate) more: Vec<Vec<Cell>>,
}

impl Table {
    /// Whether a column has any number; such columns are aligned to the right.
    fn has_numbers(&self, column: usize) -> bool {
        self.rows.iter().chain(&self.more).any(|row| row[column].is_number)
    }
}

/// A column of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column {
    pub(crate) title: String,
    /// A terminal has no room for it.
    pub(crate) is_detail: bool,
}

// What the experiments of other systems have is converted, column by column and cell by cell.
#[cfg(target_os = "linux")]
impl Column {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_detail: false }
    }

    pub(crate) fn detail(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_detail: true }
    }
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Where room is scarce.
    pub(crate) short: String,
    pub(crate) whole: String,
    /// Numbers are aligned to the right.
    pub(crate) is_number: bool,
    /// Whether it may contain names of other people's.
    pub(crate) is_foreign: bool,
}

#[cfg(target_os = "linux")]
impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { short: text.clone(), whole: text, is_number: false, is_foreign: true }
    }

    pub(crate) fn number(text: impl Into<String>) -> Self {
        Self { is_number: true, is_foreign: false, ..Self::text(text) }
    }

    /// A number with what lies around it, for which a terminal has no room.
    pub(crate) fn spread(short: impl Into<String>, whole: impl Into<String>) -> Self {
        Self { short: short.into(), whole: whole.into(), is_number: true, is_foreign: false }
    }

    /// Not measured, or there is no such thing.
    pub(crate) fn nothing() -> Self {
        Self::text("–")
    }
}
