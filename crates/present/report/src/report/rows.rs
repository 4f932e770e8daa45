//! Call sites grouped by the user's nearest frame: the rows of tables.

use crate::document::{Place, Stack, StackFrame};
use crate::names;
use heapwise_analysis::{Analysis, Frame, Interval, Measure, Numbers, Site, SiteId, Variances};
use heapwise_diagnosis::ENOUGH_SAMPLES;
use std::collections::HashMap;

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
        let mut by_place: HashMap<(String, String), usize> = HashMap::new();
        let mut list: Vec<Row> = Vec::new();
        for site in analysis.sites() {
            let stack = analysis.up_to_place(site);
            let at = stack.last();
            let function = at.map_or_else(|| "(stack unknown)".to_owned(), function_of);
            let place = at.map_or_else(String::new, |frame| place_of(frame, folder));
            let via = via_of(&stack, site.user_frame).unwrap_or_default();
            let sums = Numbers::from(site);
            let row = *by_place.entry(key_of(&function, &place)).or_insert_with(|| {
                list.push(Row {
                    function: function.clone(),
                    place,
                    sums: Numbers::default(),
                    samples: 0,
                    variances: Variances::default(),
                    sites: Vec::new(),
                });
                list.len() - 1
            });
            if list[row].function.len() < function.len() {
                list[row].function = function;
            }
            list[row].sums += sums;
            list[row].samples += site.samples;
            list[row].variances += site.variances;
            list[row].sites.push((site.id, via, sums));
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

/// What tells one place from others. Where a function is inlined, all that is known of its name may be the last part (`encode` for
/// `Value::encode`): on one line that is the same function.
pub(crate) fn key_of(function: &str, place: &str) -> (String, String) {
    let has_line = place.rsplit_once(':').is_some_and(|(_, line)| line.bytes().all(|b| b.is_ascii_digit()));
    let name = if has_line { function.rsplit("::").next().unwrap_or(function) } else { function };
    (name.to_owned(), place.to_owned())
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
