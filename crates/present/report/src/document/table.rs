//! Tables: columns that know how much room they need, and cells with a short form.

use super::{Role, Shown, Stack, Words};

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<Column>,
    /// The rows; each has a cell for each column.
    pub rows: Vec<Row>,
    /// Further rows, folded in formats that can fold. A terminal refers to the JSON for them.
    pub more: Vec<Row>,
    /// What is omitted, such as `and 3 more places`.
    pub rest: Option<String>,
    /// Whether a terminal omits the titles of columns.
    pub is_headless: bool,
    /// How far from the left a terminal begins.
    pub indent: usize,
    /// The explanation of what is in brackets, where cells are shown in full.
    pub in_brackets: &'static str,
}

impl Table {
    /// A table as a terminal has it two columns from the left.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), indent: 2, ..Self::default() }
    }

    /// Another row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(Row::of(cells));
    }

    /// Whether a column has any number.
    pub(super) fn has_numbers(&self, column: usize) -> bool {
        let is_number = |row: &Row| row.cells.get(column).is_some_and(|cell| cell.is_number);
        self.rows.iter().chain(&self.more).any(is_number)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Row {
    /// A cell for each column.
    pub cells: Vec<Cell>,
    /// What a terminal says below it.
    pub note: String,
    /// The stack that a terminal shows below it.
    pub stack: Option<Stack>,
}

impl Row {
    /// A row of nothing but cells.
    pub fn of(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { cells: cells.into_iter().collect(), ..Self::default() }
    }
}

/// More columns than any terminal has.
const NEVER: usize = usize::MAX;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    pub(super) title: String,
    pub(super) short: Option<String>,
    pub(super) below: String,
    pub(super) shown: Shown,
    pub(super) needs: usize,
    pub(super) least: usize,
    pub(super) before: &'static str,
    pub(super) is_left: bool,
    pub(super) is_brief: bool,
    pub(super) is_lead: bool,
}

impl Column {
    /// A column that is shown everywhere.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            short: None,
            below: String::new(),
            shown: Shown::Everywhere,
            needs: 0,
            least: 0,
            before: "  ",
            is_left: false,
            is_brief: false,
            is_lead: false,
        }
    }

    /// A column that is not shown on terminals.
    pub fn detail(title: impl Into<String>) -> Self {
        Self { needs: NEVER, ..Self::new(title) }
    }

    /// Has another title where room is scarce.
    pub fn short(self, title: impl Into<String>) -> Self {
        Self { short: Some(title.into()), ..self }
    }

    /// What stands below the title.
    pub fn below(self, below: impl Into<String>) -> Self {
        Self { below: below.into(), ..self }
    }

    /// A terminal shows it from this many columns on.
    pub fn needs(self, columns: usize) -> Self {
        Self { needs: columns, ..self }
    }

    /// Its least width on a terminal.
    pub fn least(self, columns: usize) -> Self {
        Self { least: columns, ..self }
    }

    /// The gap before it on a terminal.
    pub fn before(self, gap: &'static str) -> Self {
        Self { before: gap, ..self }
    }

    /// Its numbers stand at the left.
    pub fn left(self) -> Self {
        Self { is_left: true, ..self }
    }

    /// A terminal has its cells in their short form, however wide it is.
    pub fn brief(self) -> Self {
        Self { is_brief: true, ..self }
    }

    /// A terminal shows its cells in separate lines above the rows.
    pub fn lead(self) -> Self {
        Self { is_lead: true, ..self }
    }

    /// Only some of the formats have it.
    pub fn only(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub(super) short: Words,
    pub(super) whole: Words,
    pub(super) is_number: bool,
    pub(super) place: Option<Place>,
}

impl Cell {
    pub fn text(text: impl Into<Words>) -> Self {
        let whole = text.into();
        Self { short: whole.clone(), whole, ..Self::default() }
    }

    /// Words of heapwise's own, or numbers that are read as words.
    pub fn own(text: impl Into<String>) -> Self {
        Self::text(Words::own(text))
    }

    /// A number, aligned to the right.
    pub fn number(text: impl Into<String>) -> Self {
        Self { is_number: true, ..Self::own(text) }
    }

    /// A number with its range, which a terminal may have no room for.
    pub fn spread(short: impl Into<String>, whole: impl Into<String>) -> Self {
        Self { short: Words::own(short), ..Self::number(whole) }
    }

    /// Not measured, or not applicable.
    pub fn nothing() -> Self {
        Self::own("–")
    }

    pub fn empty() -> Self {
        Self::default()
    }

    /// A place in the program.
    pub fn place(place: Place) -> Self {
        Self { place: Some(place), ..Self::default() }
    }

    /// The same with a short form where room is scarce.
    pub fn or(self, short: impl Into<Words>) -> Self {
        Self { short: short.into(), ..self }
    }

    /// The same, aligned to the right.
    pub fn at_the_right(self) -> Self {
        Self { is_number: true, ..self }
    }
}

/// A place in the program. A terminal uses a second line for it if necessary.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The function, or what there is instead.
    pub function: String,
    /// Such as `new`.
    pub status: &'static str,
    /// `file:line`, empty if it is not known.
    pub at: String,
    /// Whether that place is only in an older recording.
    pub is_past: bool,
    /// The function that is called there.
    pub via: String,
    /// In how many other ways.
    pub others: usize,
    /// Whether pages show the called function in a separate column.
    pub is_via_apart: bool,
}

impl Place {
    /// The function that is called there, in words.
    pub(super) fn note(&self) -> String {
        let via = if self.via.is_empty() { String::new() } else { format!("via {}", self.via) };
        match self.others {
            0 => via,
            n => format!("{via} and {n} more").trim_start().to_owned(),
        }
    }

    /// In a line.
    pub(super) fn words(&self) -> Words {
        let mut words = Words::name(self.function.as_str());
        if !self.status.is_empty() {
            words = words.and(Role::Own, format!(" ({})", self.status));
        }
        if !self.at.is_empty() {
            words = words.and(Role::Own, if self.is_past { " was " } else { " " }).and(Role::Name, &*self.at);
        }
        if !self.via.is_empty() && !self.is_via_apart {
            words = words.and(Role::Own, " via ").and(Role::Name, &*self.via);
        }
        words
    }
}
