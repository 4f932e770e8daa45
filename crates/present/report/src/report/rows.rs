//! Call sites grouped by the user's nearest frame: the rows of tables.

use crate::document::{Place, Stack, StackFrame};
use crate::names;
use heapwise_analysis::{Analysis, Frame, Interval, Measure, Numbers, Site, SiteId, Variances};
use heapwise_diagnosis::ENOUGH_SAMPLES;
use std::collections::{BTreeSet, HashMap};

/// One place in the user's code.
#[derive(Debug)]
pub(crate) struct Row {
    /// Short name of the function, or of the place without one.
    pub(crate) function: String,
    /// `file:line`, empty if it is not known.
    pub(crate) place: String,
    pub(crate) sums: Numbers,
    /// Requests that were recorded: all, or those of a sample.
    pub(crate) samples: u64,
    /// How far the sums may be off, if they are estimates.
    variances: Variances,
    /// Its sites, what each calls, and its sums.
    sites: Vec<(SiteId, String, Numbers)>,
}

impl Row {
    /// The place, with its callee that has most of a measure.
    pub(crate) fn as_place(&self, measure: Measure) -> Place {
        let (via, ways) = self.via(measure);
        Place {
            function: self.function.clone(),
            at: self.place.clone(),
            via: via.to_owned(),
            others: ways.saturating_sub(1),
            is_via_apart: true,
            ..Place::default()
        }
    }

    /// Between which bounds its part of a measure is.
    pub(crate) fn interval(&self, measure: Measure) -> Interval {
        measure.interval(&self.variances, measure.of(&self.sums))
    }

    /// How far the truth may be from its part of a measure, or of how few samples that is known.
    pub(crate) fn around(&self, measure: Measure) -> String {
        let around = self.interval(measure).around(measure.of(&self.sums));
        match (around, self.samples) {
            (None, _) => "exact".to_owned(),
            (Some(_), 1) => "1 sample".to_owned(),
            (Some(_), few @ ..ENOUGH_SAMPLES) => format!("{few} samples"),
            (Some(around), _) => around,
        }
    }

    /// Its name in a title, which has little room: without the path of its file.
    pub(crate) fn in_short(&self) -> String {
        let function = names::callee(&self.function);
        if self.place.is_empty() { function } else { format!("{function} ({})", file_name(&self.place)) }
    }

    /// Its name in a sentence.
    pub(crate) fn in_words(&self) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!(" ({})", self.place) };
        format!("{}{place}", self.function)
    }

    /// The callee of the user's frame with most of a measure; and the number of all callees.
    pub(crate) fn via(&self, measure: Measure) -> (&str, usize) {
        let mut ways: HashMap<&str, u64> = HashMap::new();
        for (_, via, sums) in &self.sites {
            *ways.entry(via).or_default() += measure.of(sums);
        }
        let used = ways.iter().filter(|(_, n)| **n > 0);
        let most = used.clone().max_by_key(|(via, n)| (**n, std::cmp::Reverse(**via)));
        (most.map_or("", |(via, _)| via), used.count())
    }

    /// All that belongs to it.
    pub(crate) fn sites(&self) -> impl Iterator<Item = SiteId> {
        self.sites.iter().map(|(site, _, _)| *site)
    }

    /// The site with most of a measure, and how many others have some of it.
    pub(crate) fn main_site(&self, measure: Measure) -> Option<(SiteId, usize)> {
        let used = self.sites.iter().filter(|s| measure.of(&s.2) > 0);
        let most = used.clone().max_by_key(|s| (measure.of(&s.2), std::cmp::Reverse(s.0)))?;
        Some((most.0, used.count() - 1))
    }
}

/// All rows, in the order of the first site of each.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) list: Vec<Row>,
}

impl Rows {
    pub(crate) fn new(analysis: &Analysis, folder: Option<&str>) -> Self {
        let found = analysis.sites().iter().map(|site| {
            let stack = analysis.up_to_place(site);
            let at = stack.last();
            let function = at.map_or_else(|| "(stack unknown)".to_owned(), function_of);
            let place = at.map_or_else(String::new, |frame| place_of(frame, folder));
            (site, function, place, via_of(&stack, site.user_frame).unwrap_or_default())
        });
        let found: Vec<(&Site, String, String, String)> = found.collect();
        let names =
            WholeNames::new(found.iter().map(|(_, function, place, _)| (function.as_str(), place.as_str())));
        let mut by_place: HashMap<(&str, &str), usize> = HashMap::new();
        let mut list: Vec<Row> = Vec::new();
        for (site, function, place, via) in &found {
            let function = names.of(function, place);
            let sums = Numbers::from(*site);
            let row = *by_place.entry((function, place)).or_insert_with(|| {
                list.push(Row {
                    function: function.to_owned(),
                    place: place.clone(),
                    sums: Numbers::default(),
                    samples: 0,
                    variances: Variances::default(),
                    sites: Vec::new(),
                });
                list.len() - 1
            });
            list[row].sums += sums;
            list[row].samples += site.samples;
            list[row].variances += site.variances;
            list[row].sites.push((site.id, via.clone(), sums));
        }
        Self { list }
    }

    /// The row that a site belongs to.
    pub(crate) fn of(&self, site: SiteId) -> Option<&Row> {
        self.list.iter().find(|row| row.sites().any(|id| id == site))
    }

    /// The rows with most of a measure, most first.
    pub(crate) fn top(&self, measure: Measure, most: usize) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.list.iter().filter(|r| measure.of(&r.sums) > 0).collect();
        // Stable: equal rows stay in the order of their allocated bytes.
        rows.sort_by_key(|r| std::cmp::Reverse(measure.of(&r.sums)));
        rows.truncate(most);
        rows
    }
}

/// Whole names of functions by their lines. Where a function is inlined, all that is known of its name may be the last part: `encode` for
/// `Value::encode`.
#[derive(Debug)]
pub(crate) struct WholeNames(HashMap<String, BTreeSet<String>>);

impl WholeNames {
    /// Of functions and where they are.
    pub(crate) fn new<'a>(places: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut names: HashMap<String, BTreeSet<String>> = HashMap::new();
        for (function, place) in places.filter(|(function, place)| function.contains("::") && has_line(place))
        {
            names.entry(place.to_owned()).or_default().insert(function.to_owned());
        }
        Self(names)
    }

    /// The whole name of a function on a line, if it is the last part of one there only; else the name as it is. Closures have no names.
    pub(crate) fn of<'a>(&'a self, function: &'a str, place: &str) -> &'a str {
        let ends =
            |whole: &&String| whole.strip_suffix(function).is_some_and(|before| before.ends_with("::"));
        let is_bare = !function.contains("::") && !function.starts_with('{');
        let mut whole = self.0.get(place).into_iter().flatten().filter(ends).filter(|_| is_bare);
        match (whole.next(), whole.next()) {
            (Some(only), None) => only,
            _ => function,
        }
    }
}

fn has_line(place: &str) -> bool {
    place
        .rsplit_once(':')
        .is_some_and(|(_, line)| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()))
}

/// What a place calls for its blocks: `String::clone`, `xmalloc`. `None` if it calls the allocator itself.
pub(crate) fn via_of(stack: &[Frame<'_>], place: Option<usize>) -> Option<String> {
    let inner = stack.get(place?.checked_sub(1)?)?;
    inner.function.map(names::callee)
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A frame's function in short, or its address where it has no name.
pub fn function_of(frame: &Frame<'_>) -> String {
    match (frame.function, frame.module) {
        (Some(function), _) => names::function(function),
        (None, Some(module)) => format!("{}+{:#x}", file_name(&module.path), frame.address),
        (None, None) => format!("{:#x} (no module)", frame.address),
    }
}

/// A frame's `file:line`, or its module. Files below `folder` are relative to it.
pub fn place_of(frame: &Frame<'_>, folder: Option<&str>) -> String {
    match (frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{}:{line}", names::file(file, folder)),
        (Some(file), None) => names::file(file, folder),
        (None, _) => frame
            .module
            .filter(|_| frame.function.is_some())
            .map_or_else(String::new, |m| file_name(&m.path).to_owned()),
    }
}

pub(crate) fn stack_of(analysis: &Analysis, site: &Site, folder: Option<&str>) -> Stack {
    let frame = |(at, frame): (usize, &Frame<'_>)| StackFrame {
        function: function_of(frame),
        at: place_of(frame, folder),
        is_users: site.user_frame == Some(at),
        is_inlined: frame.inlined,
    };
    let notes = site.cut.then(|| "(the stack is cut off here)".to_owned());
    Stack {
        frames: analysis.stack(site).iter().enumerate().map(frame).collect(),
        notes: notes.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_one_name_on_a_line_is_that_function() {
        let at = "core/src/value.rs:7";
        let places = [
            ("core::Value::encode", at),
            ("ast::Leaf::new", "ast.rs:3"),
            ("ast::Branch::new", "ast.rs:3"),
            ("run::{closure#0}", at),
            ("core::Value::encode", "libcore.so"),
        ];
        let names = WholeNames::new(places.into_iter());
        assert_eq!(names.of("encode", at), "core::Value::encode");
        // On another line, in a file without lines, of two functions, of a closure, and of what only ends alike.
        let others = [
            ("encode", "core/src/value.rs:8"),
            ("encode", "libcore.so"),
            ("new", "ast.rs:3"),
            ("{closure#0}", at),
            ("code", at),
            ("Leaf::new", "ast.rs:3"),
        ];
        for (function, place) in others {
            assert_eq!(names.of(function, place), function);
        }
    }
}
