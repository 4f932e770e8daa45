//! Where packages allocate that one place calls, for programs in which that place has nearly all: a table with one row says nothing.

use super::places::{self, Ranking, TABLES, WIDE};
use super::rows::{Row as PlaceRow, function_of, key_of, place_of};
use super::{Subject, rest};
use crate::document::{Block, Cell, Column, Place, Row, Section, Shown, Table};
use crate::units::share;
use heapwise_analysis::owner::{Owner, makes_a_copy};
use heapwise_analysis::{Frame, Numbers};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Nearly all is so many percent.
const NEARLY_ALL: u64 = 75;

/// Of each measure.
pub(super) fn tables(subject: &Subject<'_>) -> Vec<Section> {
    TABLES.iter().flat_map(|ranking| some(subject, ranking, subject.options.top)).collect()
}

/// A table of places with so many rows at most; and one of what lies inside of the first, where that has nearly all.
pub(super) fn some(subject: &Subject<'_>, ranking: &Ranking, most: usize) -> Vec<Section> {
    let most = most.min(subject.options.top);
    let inside = section(subject, ranking, most);
    let table = places::table(subject, ranking, most, inside.is_some());
    table.into_iter().chain(inside).collect()
}

/// The table; `None` where no place has nearly all of the measure, or where it does not call packages for that.
fn section(subject: &Subject<'_>, ranking: &Ranking, most: usize) -> Option<Section> {
    let measure = ranking.measure;
    let whole = measure.of_run(subject.analysis);
    let row = subject.rows.top(measure, 1).first().copied()?;
    if subject.analysis.sampled.is_some() || measure.of(&row.sums).saturating_mul(100) < whole * NEARLY_ALL {
        return None;
    }
    let mut places = inner_places(subject, row);
    places.retain(|place| measure.of(&place.sums) > 0);
    places.sort_by_cached_key(|place| {
        (Reverse(measure.of(&place.sums)), place.function.clone(), place.at.clone())
    });
    if places.len() < 2 || most == 0 {
        return None;
    }
    let columns = vec![
        Column::new("share").least(6),
        Column::new(ranking.heads.0).least(WIDE),
        Column::new(ranking.heads.1).least(WIDE),
        Column::new("place").short("where"),
    ];
    let line = |Inner { function, at, sums }: &Inner| {
        let [part, beside] = ranking.amounts(sums);
        let numbers = [share(measure.of(sums), whole), part, beside].map(Cell::number);
        let place = Place { function: function.clone(), at: at.clone(), ..Place::default() };
        Row::of(numbers.into_iter().chain([Cell::place(place)]))
    };
    let shown = places.len().min(most);
    let table = Table {
        rows: places[..shown].iter().map(line).collect(),
        rest: rest(places.len(), shown, "place", "places"),
        ..Table::new(columns)
    };
    let of = format!("that {} calls", row.in_short());
    Some(Section::new("Of these, in packages", [Block::Table(table)]).aside(of).only(Shown::Terminal))
}

/// What a place's packages have of its blocks, by function and line.
fn inner_places(subject: &Subject<'_>, row: &PlaceRow) -> Vec<Inner> {
    let mut places: HashMap<(String, String), (String, Numbers)> = HashMap::new();
    for id in row.sites() {
        let Some(site) = subject.analysis.sites().get(id.0 as usize) else { continue };
        let stack = subject.analysis.up_to_place(site);
        if stack.last().is_none_or(|place| place.owner != Owner::User) {
            continue;
        }
        if let Some(frame) = innermost_of_package(&stack) {
            let (function, at) = (function_of(frame), place_of(frame, subject.folder()));
            let (name, sums) = places.entry(key_of(&function, &at)).or_default();
            *sums += Numbers::from(site);
            if name.len() < function.len() {
                *name = function;
            }
        }
    }
    places.into_iter().map(|((_, at), (function, sums))| Inner { function, at, sums }).collect()
}

/// A place in a package.
struct Inner {
    function: String,
    at: String,
    sums: Numbers,
}

/// The frame of a package that needed the block: not what only copies something, as with the program's own code.
fn innermost_of_package<'a, 'b>(stack: &'b [Frame<'a>]) -> Option<&'b Frame<'a>> {
    let is_copy = |at: usize| {
        let called = at.checked_sub(1).and_then(|inner| stack[inner].function);
        stack[at].function.is_some_and(|name| makes_a_copy(name, stack[at].file, called))
    };
    let of_package = |at: &usize| stack[*at].owner == Owner::Dependency && stack[*at].function.is_some();
    (0..stack.len()).filter(of_package).find(|at| !is_copy(*at)).map(|at| &stack[at])
}
