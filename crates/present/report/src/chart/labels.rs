//! Where names of rows are placed: at the left if all of them are short, otherwise each above its row, because a name with
//! settings distinguishes rows and must not be cut.

use super::{WIDTH, short, width, word};
use crate::html_page::Markup;

/// Room for names at the left.
const LEFT: f64 = 140.0;
/// What a row takes without a name above it.
const ROW: f64 = 26.0;
/// What a name above a row takes.
const LINE: f64 = 14.0;

/// How names of rows are placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Labels {
    is_above: bool,
}

impl Labels {
    pub(super) fn of<'a>(mut names: impl Iterator<Item = &'a str>) -> Self {
        Self { is_above: names.any(|name| width(name) > LEFT) }
    }

    /// Where numbers begin.
    pub(super) fn numbers_from(self) -> f64 {
        if self.is_above { 8.0 } else { LEFT + 8.0 }
    }

    /// What so many rows take.
    pub(super) fn height(self, rows: usize) -> f64 {
        self.row() * rows as f64
    }

    /// The middle of what a row shows.
    pub(super) fn middle(self, row: usize) -> f64 {
        self.row() * row as f64 + ROW / 2.0 + 2.0 + if self.is_above { LINE } else { 0.0 }
    }

    pub(super) fn name(self, row: usize, name: &str) -> Markup {
        let middle = self.middle(row);
        match self.is_above {
            true => word("", "start", [8.0, middle - 13.0], &short(name, WIDTH - 16.0)),
            false => word("", "end", [LEFT, middle + 4.0], &short(name, LEFT)),
        }
    }

    fn row(self) -> f64 {
        ROW + if self.is_above { LINE } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_stand_above_and_are_whole() {
        let long = "jemalloc:background_thread=true:dirty_decay_ms=1000";
        let labels = Labels::of(["glibc", long].into_iter());
        assert!(labels.name(1, long).to_string().contains(long));
        assert!(labels.height(2) > labels.middle(1) && labels.middle(1) - labels.middle(0) > 30.0);
        let labels = Labels::of(["glibc", "mimalloc2"].into_iter());
        assert!(labels.numbers_from() > LEFT && labels.name(0, "glibc").to_string().contains("end"));
    }
}
