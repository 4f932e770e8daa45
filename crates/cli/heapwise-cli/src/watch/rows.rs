//! The rows of the tables: places and threads with their numbers, sorted and filtered.

use super::update::{PlaceName, ThreadRow, Update};

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Requests,
    Bytes,
    Live,
    Blocks,
    Growth,
}

impl Column {
    pub(super) const ALL: [Self; 5] = [Self::Requests, Self::Bytes, Self::Live, Self::Blocks, Self::Growth];

    /// What comes after it when the user goes through all.
    pub(super) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|column| *column == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

/// A place with its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlaceRow {
    /// `None` for all stacks whose names were not looked up yet.
    pub(super) name: Option<PlaceName>,
    /// Requests and bytes per second.
    pub(super) rate: [u64; 2],
    pub(super) live: u64,
    pub(super) blocks: u64,
    /// Live bytes now without those at the mark.
    pub(super) growth: i64,
    pub(super) samples: u64,
}

impl PlaceRow {
    fn of(&self, column: Column) -> i128 {
        match column {
            Column::Requests => i128::from(self.rate[0]),
            Column::Bytes => i128::from(self.rate[1]),
            Column::Live => i128::from(self.live),
            Column::Blocks => i128::from(self.blocks),
            Column::Growth => i128::from(self.growth),
        }
    }
}

/// A moment that growth is counted from.
#[derive(Clone, Debug, Default)]
pub(super) struct Mark {
    pub(super) time_ns: u64,
    /// Live bytes of each stack. Stacks that joined later had none.
    live: Vec<u64>,
}

impl Mark {
    pub(super) fn at(update: &Update) -> Self {
        let live = update.stacks.iter().map(|stack| stack.live_bytes).collect();
        Self { time_ns: update.sums.time.0, live }
    }
}

/// Whether a name has what the user looks for, in whatever case.
fn has(text: &str, lower: &str) -> bool {
    lower.is_empty() || text.to_lowercase().contains(lower)
}

/// All places that the filter lets through, the one with most first.
pub(super) fn places(update: &Update, mark: Option<&Mark>, sort: Column, filter: &str) -> Vec<PlaceRow> {
    let names = &update.places.names;
    let mut rows: Vec<PlaceRow> =
        names.iter().map(|name| PlaceRow { name: Some(name.clone()), ..PlaceRow::default() }).collect();
    rows.push(PlaceRow::default());
    let unnamed = rows.len() - 1;
    for (at, stack) in update.stacks.iter().enumerate() {
        let place = update.places.of_stack.get(at).copied().flatten();
        let row = &mut rows[place.map_or(unnamed, |place| (place as usize).min(unnamed))];
        let rate = update.rates.get(at).copied().unwrap_or_default();
        row.rate = [row.rate[0].saturating_add(rate[0]), row.rate[1].saturating_add(rate[1])];
        row.live = row.live.saturating_add(stack.live_bytes);
        row.blocks = row.blocks.saturating_add(stack.live_blocks);
        row.samples = row.samples.saturating_add(stack.samples);
        let before = match mark {
            Some(mark) => mark.live.get(at).copied().unwrap_or(0),
            None => stack.carried_bytes,
        };
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        row.growth = row.growth.saturating_add(signed(stack.live_bytes).saturating_sub(signed(before)));
    }
    let lower = filter.to_lowercase();
    rows.retain(|row| match &row.name {
        Some(name) => has(&name.function, &lower) || has(&name.at, &lower),
        None => lower.is_empty() && row.samples > 0,
    });
    rows.sort_by(|a, b| {
        let key = |row: &PlaceRow| (row.of(sort), row.live, row.rate[1], row.samples);
        key(b).cmp(&key(a)).then_with(|| name_of(a).cmp(&name_of(b)))
    });
    rows
}

fn name_of(row: &PlaceRow) -> (&str, &str) {
    row.name.as_ref().map_or(("", ""), |name| (&name.function, &name.at))
}

/// The threads that the filter lets through, the one with most first; those that run before those that have ended.
pub(super) fn threads<'a>(update: &'a Update, sort: Column, filter: &str) -> Vec<&'a ThreadRow> {
    let lower = filter.to_lowercase();
    let is_wanted =
        |thread: &&ThreadRow| has(&thread.name, &lower) || thread.tid.to_string().contains(&lower);
    let mut rows: Vec<_> = update.threads.iter().filter(is_wanted).collect();
    let key = |row: &ThreadRow| match sort {
        Column::Requests => row.rate[0],
        Column::Bytes => row.rate[1],
        Column::Live | Column::Blocks | Column::Growth => row.live,
    };
    // Stable: equal ones stay in the order in which they joined.
    rows.sort_by_key(|row| (row.has_ended, std::cmp::Reverse(key(row))));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{stack, update};

    fn functions(rows: &[PlaceRow]) -> Vec<&str> {
        rows.iter().map(|row| row.name.as_ref().map_or("?", |name| &name.function)).collect()
    }

    #[test]
    fn several_stacks_of_a_place_are_one_row() {
        let mut update = update(&[("parse", "a.c:1"), ("load", "b.c:7")]);
        update.stacks = vec![stack(100, 1), stack(50, 2), stack(7, 1), stack(1000, 1)];
        update.rates = vec![[1, 100], [2, 50], [30, 3]];
        update.places = std::sync::Arc::new(crate::watch::update::Places {
            names: update.places.names.clone(),
            of_stack: vec![Some(0), Some(0), Some(1)],
        });
        let rows = places(&update, None, Column::Live, "");
        assert_eq!(functions(&rows), ["?", "parse", "load"], "what has no name yet is a row, too");
        assert_eq!((rows[1].live, rows[1].blocks, rows[1].rate), (150, 3, [3, 150]));
        assert_eq!(rows[1].growth, 150, "without a mark all of it is growth");
        assert_eq!(functions(&places(&update, None, Column::Requests, "")), ["load", "parse", "?"]);
        assert_eq!(functions(&places(&update, None, Column::Bytes, "")), ["parse", "load", "?"]);
        assert_eq!(functions(&places(&update, None, Column::Live, "B.C")), ["load"]);
        assert_eq!(functions(&places(&update, None, Column::Live, "none such")), [""; 0]);
    }

    #[test]
    fn growth_is_counted_from_the_mark() {
        let mut update = update(&[("grows", ""), ("shrinks", ""), ("new", "")]);
        update.stacks = vec![stack(100, 1), stack(900, 9)];
        let mark = Mark::at(&update);
        update.stacks = vec![stack(175, 2), stack(400, 4), stack(30, 1)];
        let rows = places(&update, Some(&mark), Column::Growth, "");
        let growth: Vec<_> = rows.iter().map(|row| row.growth).collect();
        assert_eq!(functions(&rows), ["grows", "new", "shrinks"]);
        assert_eq!(growth, [75, 30, -500]);
    }

    #[test]
    fn what_an_earlier_file_left_is_no_growth() {
        let mut update = update(&[("kept", ""), ("grows", "")]);
        update.stacks = vec![stack(900, 9), stack(300, 3)];
        (update.stacks[0].carried_bytes, update.stacks[1].carried_bytes) = (1000, 100);
        let rows = places(&update, None, Column::Growth, "");
        assert_eq!(rows.iter().map(|row| row.growth).collect::<Vec<_>>(), [200, -100]);
        let rows = places(&update, Some(&Mark::at(&update)), Column::Growth, "");
        assert_eq!(rows.iter().map(|row| row.growth).collect::<Vec<_>>(), [0, 0]);
    }

    #[test]
    fn threads_that_run_come_first() {
        let mut update = update(&[]);
        let thread = |tid, name: &str, live, has_ended| ThreadRow {
            tid,
            name: name.to_owned(),
            live,
            rate: [live / 10, 0],
            has_ended,
            ..ThreadRow::default()
        };
        update.threads =
            vec![thread(7, "main", 10, false), thread(8, "worker", 99, true), thread(9, "worker", 20, false)];
        let tids = |rows: Vec<&ThreadRow>| rows.iter().map(|row| row.tid).collect::<Vec<_>>();
        assert_eq!(tids(threads(&update, Column::Live, "")), [9, 7, 8]);
        assert_eq!(tids(threads(&update, Column::Requests, "WORK")), [9, 8]);
        assert_eq!(tids(threads(&update, Column::Bytes, "7")), [7]);
    }

    #[test]
    fn all_columns_are_gone_through() {
        let through: Vec<_> =
            std::iter::successors(Some(Column::Live), |column| Some(column.next())).take(6).collect();
        assert_eq!(through[5], Column::Live);
        assert!(Column::ALL.iter().all(|column| through.contains(column)));
    }
}
