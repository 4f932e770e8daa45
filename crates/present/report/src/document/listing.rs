//! The text of a file with amounts in the margin, laid out in columns. A terminal and Markdown show the same lines.

use super::Role;
use crate::escape::terminal::escape;
use crate::names::{cut, width_of};

/// A file, or some parts of it.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub columns: Vec<Amount>,
    /// The title of the text.
    pub title: &'static str,
    pub rows: Vec<ListingRow>,
}

/// A column of amounts.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    pub title: &'static str,
    /// What it has in common with its neighbours.
    pub group: &'static str,
    pub width: usize,
    /// It is shown from so many columns on.
    pub needs: usize,
}

/// A row of a listing.
#[derive(Clone, Debug)]
pub enum ListingRow {
    Line(ListingLine),
    /// A remark about the line before.
    Note(String),
    /// Lines that are left out.
    Gap,
}

/// A line of the file.
#[derive(Clone, Debug)]
pub struct ListingLine {
    pub number: u32,
    pub text: String,
    /// An amount for each column; empty where there is nothing.
    pub amounts: Vec<String>,
    pub role: Role,
}

/// A piece of a line. It is escaped.
type Run = (Role, String);

/// A line of the output.
pub(super) enum Output {
    Line(Vec<Run>),
    /// A remark that may be broken into several lines: what it begins with, and its text, which is not escaped.
    Note(String, String),
}

/// Columns of a page without a terminal.
const PAGE: usize = 120;
/// Between two columns of amounts.
const GAP: &str = " ";
/// Between the number of a line and its text.
const BAR: &str = " │ ";
/// A remark has so many columns at least.
const NOTE: usize = 64;
/// The text is not made narrower than this.
const LEAST_TEXT: usize = 12;

impl Listing {
    /// Its lines in so many columns.
    pub(super) fn lines(&self, columns: usize) -> impl Iterator<Item = Output> {
        let shown: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at].needs <= columns).collect();
        let numbers = self.rows.iter().filter_map(|row| match row {
            ListingRow::Line(line) => Some(line.number),
            _ => None,
        });
        let wide = numbers.max().unwrap_or(0).to_string().len().max("line".len());
        let margin = shown.iter().map(|at| self.columns[*at].width + GAP.len()).sum::<usize>() + wide;
        let room = columns.saturating_sub(margin + width_of(BAR)).max(LEAST_TEXT);
        // Below the text, unless that is too narrow for sentences.
        let indent = (margin + width_of(BAR)).min(columns.saturating_sub(NOTE));
        let heads = [self.groups(&shown), self.titles(&shown, wide)];
        let row = move |row: &ListingRow| match row {
            ListingRow::Line(line) => Output::Line(line.runs(&self.columns, &shown, wide, room)),
            ListingRow::Note(text) => Output::Note(format!("{}▲ ", " ".repeat(indent)), text.clone()),
            ListingRow::Gap => Output::Line(vec![(Role::Faint, format!("{} …", " ".repeat(margin)))]),
        };
        heads.into_iter().chain(self.rows.iter().map(row))
    }

    /// Its lines without colours, escaped, for a page of this width.
    pub(super) fn plain(&self) -> Vec<String> {
        let line = |output| match output {
            Output::Line(runs) => {
                runs.into_iter().map(|(_, text)| text).collect::<String>().trim_end().to_owned()
            }
            Output::Note(first, text) => format!("{first}{}", escape(&text)),
        };
        self.lines(PAGE).map(line).collect()
    }

    /// What columns have in common, above the first one of each group.
    fn groups(&self, shown: &[usize]) -> Output {
        let mut text = String::new();
        let mut before = "";
        let mut from = 0;
        for column in shown.iter().map(|at| &self.columns[*at]) {
            if column.group != before {
                text.push_str(&" ".repeat(from - width_of(&text).min(from)));
                text.push_str(column.group);
                before = column.group;
            }
            from += column.width + GAP.len();
        }
        Output::Line(vec![(Role::Faint, text)])
    }

    fn titles(&self, shown: &[usize], wide: usize) -> Output {
        let titles = shown.iter().map(|at| {
            let column = &self.columns[*at];
            format!("{:>width$}{GAP}", column.title, width = column.width)
        });
        let text = format!("{}{:>wide$}{BAR}{}", titles.collect::<String>(), "line", self.title);
        Output::Line(vec![(Role::Faint, text)])
    }
}

impl ListingLine {
    fn runs(&self, columns: &[Amount], shown: &[usize], wide: usize, room: usize) -> Vec<Run> {
        let amount = |at: &usize| {
            let amount = self.amounts.get(*at).map_or("", String::as_str);
            let room = columns[*at].width.saturating_sub(width_of(amount));
            format!("{}{amount}{GAP}", " ".repeat(room))
        };
        let amounts = shown.iter().map(amount).collect();
        let number = format!("{:>wide$}{BAR}", self.number);
        vec![(self.role, amounts), (Role::Faint, number), (Role::Own, cut(&escape(&self.text), room))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let amount = |title, group, needs| Amount { title, group, width: 6, needs };
        let line = |number, text: &str, amounts: [&str; 3]| {
            let amounts = amounts.map(str::to_owned).into();
            ListingRow::Line(ListingLine { number, text: text.into(), amounts, role: Role::Own })
        };
        Listing {
            columns: vec![
                amount("blocks", "own", 0),
                amount("bytes", "own", 90),
                amount("blocks", "below", 0),
            ],
            title: "source",
            rows: vec![
                line(7, "f() {\u{1b}[J", ["", "", "12"]),
                ListingRow::Note("a finding".into()),
                ListingRow::Gap,
                line(12, &"x".repeat(200), ["3", "8 B", "3"]),
            ],
        }
    }

    fn text(columns: usize) -> Vec<String> {
        let line = |output| match output {
            Output::Line(runs) => runs.into_iter().map(|run| run.1).collect::<String>().trim_end().to_owned(),
            Output::Note(first, text) => first + &text,
        };
        listing().lines(columns).map(line).collect()
    }

    #[test]
    fn a_page_has_the_same_lines() {
        assert_eq!(listing().plain(), text(PAGE));
    }

    #[test]
    fn amounts_are_below_their_titles_and_the_text_gets_what_is_left() {
        let narrow = text(40);
        assert_eq!(narrow[0], "own    below");
        assert_eq!(narrow[1], "blocks blocks line │ source");
        assert_eq!(narrow[2], "           12    7 │ f() {\\u{1b}[J");
        assert_eq!(narrow[3], "▲ a finding");
        assert_eq!(narrow[4], "                   …");
        assert_eq!(narrow[5], format!("     3      3   12 │ {}…", "x".repeat(18)));
        let wide = text(90);
        assert_eq!(wide[0], "own           below");
        assert_eq!(wide[1], "blocks  bytes blocks line │ source");
        assert_eq!(wide[3], format!("{}▲ a finding", " ".repeat(26)));
        assert_eq!(width_of(&wide[5]), 90);
    }
}
