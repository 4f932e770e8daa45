//! The input of the rules: an analysis with its sites put together by the user's lines.
//!
//! A line of a user's program has many sites: each way to it, and each way from it to the allocator, is a separate
//! stack. A finding names one line. So sites are put together by the file and line of the user's nearest frame, and a
//! rule gets from a place the part of it that is made for some purpose: its copies, its growing buffers.

use crate::cost;
use crate::name::base;
use crate::purpose::{Call, Purpose, call};
use heapwise_analysis::{Analysis, Frame, Nanos, Site, SiteId};
use std::collections::HashMap;

/// Samples of a site that a rule needs: with so many, the site's figures are within half of the truth.
const ENOUGH_SAMPLES: u64 = 16;

/// The language that a place is written in, for the words of a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    C,
    Cxx,
}

/// A site and what it is for.
pub(crate) struct Seen<'a> {
    pub(crate) site: &'a Site,
    pub(crate) call: Call<'a>,
}

/// A line of the user's.
pub(crate) struct Place<'a> {
    /// The plain name of the function.
    pub(crate) function: &'a str,
    /// The last part of the file's path, and the line; without debug information they are not known.
    pub(crate) line: Option<(&'a str, u32)>,
    pub(crate) language: Language,
    pub(crate) seen: Vec<Seen<'a>>,
}

/// Frames of a stack that rules look at. What is called in between, and by which function, is within the first dozens.
pub(crate) const MOST_FRAMES: usize = 1024;

/// An analysis as the rules see it.
pub(crate) struct RuleInput<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) places: Vec<Place<'a>>,
    /// What all calls of the program cost.
    pub(crate) time: Nanos,
}

impl<'a> RuleInput<'a> {
    pub(crate) fn new(analysis: &'a Analysis) -> Self {
        let mut places: Vec<Place<'a>> = Vec::new();
        let mut by_place: HashMap<(&str, Option<u32>), usize> = HashMap::new();
        for site in analysis
            .sites()
            .iter()
            .filter(|site| analysis.sampled.is_none() || site.samples >= ENOUGH_SAMPLES)
        {
            let stack = analysis.innermost(site, MOST_FRAMES);
            let Some((user, frame)) = site.user_frame.and_then(|i| stack.get(i).map(|f| (i, *f))) else {
                continue;
            };
            // A place without a name does not help.
            let Some(function) = frame.function else { continue };
            let key = match (frame.file, frame.line) {
                (Some(file), Some(line)) => (file, Some(line)),
                _ => (function, None),
            };
            let at = *by_place.entry(key).or_insert_with(|| {
                let file = frame.file.map(|f| f.rsplit('/').next().unwrap_or(f));
                places.push(Place {
                    function: name_of(&stack[user..]),
                    line: file.zip(frame.line),
                    language: language(&stack, &frame),
                    seen: Vec::new(),
                });
                places.len() - 1
            });
            places[at].seen.push(Seen { site, call: call(&stack, user) });
        }
        let time = analysis.sites().iter().map(|site| cost::of_site(site).0).sum();
        Self { analysis, places, time: Nanos(time) }
    }

    /// Requests of the whole program.
    pub(crate) fn requests(&self) -> u64 {
        self.analysis.totals.allocations + self.analysis.totals.reallocations
    }
}

/// The plain name of the function that the frames belong to: a closure goes by the function that it is in.
fn name_of<'a>(frames: &[Frame<'a>]) -> &'a str {
    let own = frames[0].function.unwrap_or_default();
    if !base(own).starts_with('{') {
        return base(own);
    }
    let outer = own.rsplit_once("::{").map(|(before, _)| base(before));
    let file = frames[0].file;
    let around = frames.iter().skip(1).filter(|f| f.file == file).filter_map(|f| f.function).map(base);
    outer.or_else(|| around.into_iter().find(|n| !n.starts_with('{'))).unwrap_or(base(own))
}

fn language(stack: &[Frame<'_>], frame: &Frame<'_>) -> Language {
    use heapwise_analysis::owner::Owner;
    match frame.file.and_then(|f| f.rsplit_once('.')).map(|(_, ending)| ending) {
        Some("rs") => Language::Rust,
        Some("c") => Language::C,
        Some("cc" | "cpp" | "cxx" | "C" | "hpp" | "hh" | "hxx") => Language::Cxx,
        _ if stack.iter().any(|f| f.owner == Owner::RustStd) => Language::Rust,
        _ if stack.iter().any(|f| f.owner == Owner::CxxStd) => Language::Cxx,
        _ => Language::C,
    }
}

impl<'a> Place<'a> {
    /// How a title names it: `solve_round (v01_simple.rs:92)`.
    pub(crate) fn label(&self) -> String {
        // What `#[derive(Deserialize)]` wrote has names that the user never saw.
        let derived = matches!(self.function, "visit_map" | "visit_seq" | "deserialize");
        match self.line {
            Some((file, line)) if derived => format!("the type at {file}:{line}"),
            Some((file, line)) => format!("{} ({file}:{line})", self.function),
            None => self.function.to_owned(),
        }
    }

    /// The part of it that is for one of these purposes; `None` if there is none.
    pub(crate) fn part(&self, wanted: &[Purpose]) -> Option<Part<'a>> {
        self.part_where(|seen| wanted.contains(&seen.call.what))
    }

    /// The part of it that `wanted` accepts; `None` if there is none.
    pub(crate) fn part_where(&self, wanted: impl Fn(&Seen<'a>) -> bool) -> Option<Part<'a>> {
        let mut part = Part::default();
        self.seen.iter().filter(|seen| wanted(seen)).for_each(|seen| part.add(seen));
        (!part.sites.is_empty()).then_some(part)
    }

    /// Whether it has something for this purpose.
    pub(crate) fn has(&self, what: Purpose) -> bool {
        self.seen.iter().any(|seen| seen.call.what == what)
    }
}

/// Some sites of a place, added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part<'a> {
    pub(crate) sites: Vec<&'a Site>,
    /// What the user's frame called for most of it.
    pub(crate) callee: &'a str,
    most: u64,
    pub(crate) allocations: u64,
    pub(crate) resizes: u64,
    pub(crate) bytes: u64,
    pub(crate) deallocations: u64,
    pub(crate) temporary: u64,
    /// The most that were live at one time, at most.
    pub(crate) most_blocks: u64,
    pub(crate) buffers: u64,
    pub(crate) steps: u64,
    pub(crate) copied_bytes: u64,
    pub(crate) exit_blocks: u64,
}

impl<'a> Part<'a> {
    fn add(&mut self, seen: &Seen<'a>) {
        let site = seen.site;
        let requests = site.allocations + site.reallocations;
        if requests >= self.most {
            (self.most, self.callee) = (requests, seen.call.callee);
        }
        self.sites.push(site);
        self.allocations += site.allocations;
        self.resizes += site.reallocations;
        self.bytes = self.bytes.saturating_add(site.allocated_bytes.0);
        self.deallocations += site.deallocations;
        self.temporary += site.temporary_allocations;
        self.most_blocks += site.most_blocks;
        self.buffers += site.growth.buffers;
        self.steps += site.growth.steps;
        self.copied_bytes = self.copied_bytes.saturating_add(site.copied_bytes.0);
        self.exit_blocks += site.live_at_exit_blocks;
    }

    /// Allocations and resizes.
    pub(crate) fn requests(&self) -> u64 {
        self.allocations + self.resizes
    }

    /// Bytes of a request on average.
    pub(crate) fn average(&self) -> u64 {
        self.bytes / self.requests().max(1)
    }

    pub(crate) fn time(&self) -> Nanos {
        Nanos(self.sites.iter().map(|site| cost::of_site(site).0).sum())
    }

    /// Its sites, the one with the most requests first.
    pub(crate) fn ids(&self) -> Vec<SiteId> {
        let mut sites = self.sites.clone();
        sites.sort_by_key(|s| (std::cmp::Reverse(s.allocations + s.reallocations), s.id));
        sites.iter().map(|s| s.id).collect()
    }

    /// Whether its blocks came one after another, with at most a few live at a time, so that one could serve for all.
    ///
    /// A buffer that grows has a block at each of two sites: where it began and where it grew. One that moves to a larger
    /// block has two for a moment.
    pub(crate) fn is_sequential(&self) -> bool {
        let ended = self.exit_blocks <= 1;
        ended && self.most_blocks <= MOST_AT_ONCE.max(2 * self.sites.len() as u64).min(2 * MOST_AT_ONCE)
    }
}

/// So many blocks may be live at one time where they are said to come one after another.
const MOST_AT_ONCE: u64 = 4;
