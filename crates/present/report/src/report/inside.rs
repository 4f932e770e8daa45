//! Where packages allocate that one place calls, for programs in which that place has nearly all: a table with one row says nothing.

use super::places::{self, Ranking, TABLES, WIDE};
use super::rows::{Row as PlaceRow, WholeNames, function_of, place_of};
use super::{Subject, rest};
use crate::document::{Block, Cell, Column, Place, Row, Section, Shown, Table};
use crate::units::share;
use heapwise_analysis::owner::{Owner, makes_a_copy};
use heapwise_analysis::{Frame, Numbers};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Nearly all is so many percent.
const NEARLY_ALL: u64 = 75;
/// Of that packages have at least so many percent.
const MUCH: u64 = 50;

/// The tables of places, one for each measure.
pub(super) fn tables(subject: &Subject<'_>) -> Vec<Section> {
    let most = subject.options.top;
    TABLES.iter().flat_map(|ranking| both(subject, ranking, most, false)).collect()
}

/// The table of one measure for who sees no others, with so many rows at most.
pub(super) fn in_short(subject: &Subject<'_>, ranking: &Ranking, most: usize) -> Vec<Section> {
    both(subject, ranking, most.min(subject.options.top), true)
}

/// A table of places; and one of what lies inside of the first, where that has nearly all.
fn both(subject: &Subject<'_>, ranking: &Ranking, most: usize, is_short: bool) -> Vec<Section> {
    let inside = section(subject, ranking, most);
    let table = places::table(subject, ranking, most, is_short && inside.is_some());
    table.into_iter().chain(inside).collect()
}

/// Whether a part is at least so many percent of a whole. A damaged recording may have any number.
fn is_at_least(part: u64, percent: u64, whole: u64) -> bool {
    u128::from(part) * 100 >= u128::from(whole) * u128::from(percent)
}

/// The table; `None` where no place has nearly all of the measure, or where the packages that it calls have little of that.
fn section(subject: &Subject<'_>, ranking: &Ranking, most: usize) -> Option<Section> {
    let measure = ranking.measure;
    let whole = measure.of_run(subject.analysis);
    let row = subject.rows.top(measure, 1).first().copied()?;
    let of_row = measure.of(&row.sums);
    if most == 0 || subject.analysis.sampled.is_some() || !is_at_least(of_row, NEARLY_ALL, whole) {
        return None;
    }
    let mut places = inner_places(subject, row);
    places.retain(|place| measure.of(&place.sums) > 0);
    let of_packages = places.iter().fold(0_u64, |sum, place| sum.saturating_add(measure.of(&place.sums)));
    if !is_at_least(of_packages, MUCH, of_row) {
        return None;
    }
    places.sort_by_cached_key(|place| {
        (Reverse(measure.of(&place.sums)), place.function.clone(), place.at.clone())
    });
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
    let of = format!("that {} calls: {} of all", row.in_short(), share(of_packages, whole));
    Some(Section::new("Of these, in packages", [Block::Table(table)]).aside(of).only(Shown::Terminal))
}

/// What a place's packages have of its blocks, by function and line.
fn inner_places(subject: &Subject<'_>, row: &PlaceRow) -> Vec<Inner> {
    let mut found: Vec<Inner> = Vec::new();
    for id in row.sites() {
        let Some(site) = subject.analysis.sites().get(id.0 as usize) else { continue };
        let stack = subject.analysis.up_to_place(site);
        if stack.last().is_none_or(|place| place.owner != Owner::User) {
            continue;
        }
        if let Some(frame) = innermost_of_package(&stack) {
            let (function, at) = (function_of(frame), place_of(frame, subject.folder()));
            found.push(Inner { function, at, sums: Numbers::from(site) });
        }
    }
    let names = WholeNames::new(found.iter().map(|place| (place.function.as_str(), place.at.as_str())));
    let mut places: HashMap<(&str, &str), Numbers> = HashMap::new();
    for Inner { function, at, sums } in &found {
        *places.entry((names.of(function, at), at)).or_default() += *sums;
    }
    let places = places.into_iter();
    places
        .map(|((function, at), sums)| Inner { function: function.to_owned(), at: at.to_owned(), sums })
        .collect()
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
