//! The input of the rules: an analysis with its sites put together by the user's lines.
//!
//! A line of a user's program has many sites: each way to it, and each way from it to the allocator, is a separate
//! stack. A finding names one line. So sites are put together by the file and line of the user's nearest frame, and a
//! rule gets from a place the part of it that is made for some purpose: its copies, its growing buffers.

use crate::cost;
use crate::foreign::{Foreign, Through};
use crate::name::{base, with_type};
use crate::purpose::{Call, Purpose, call, is_copy};
use crate::source::LineOf;
use heapwise_analysis::owner::{Owner, Package, package_of};
use heapwise_analysis::{Analysis, Frame, Nanos, Site, SiteId};
use std::borrow::Cow;
use std::collections::HashMap;

/// Samples of a site that a rule needs: with so many, the site's figures are within half of the truth.
pub const ENOUGH_SAMPLES: u64 = 16;

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

/// A line of the user's, or one of others' that allocates for its own purposes.
pub(crate) struct Place<'a> {
    /// The plain name of the function.
    pub(crate) function: Cow<'a, str>,
    /// The file's path and the line; without debug information they are not known.
    pub(crate) line: Option<(&'a str, u32)>,
    /// Whose it is, unless it is the user's.
    pub(crate) foreign: Option<Foreign<'a>>,
    pub(crate) language: Language,
    pub(crate) seen: Vec<Seen<'a>>,
}

/// Frames of a stack that rules look at. What is called in between, and by which function, is within the first dozens.
pub(crate) const MOST_FRAMES: usize = 1024;

/// An analysis as the rules see it.
pub(crate) struct RuleInput<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) places: Vec<Place<'a>>,
    /// What all calls of the program cost, by the model.
    pub(crate) time: Nanos,
    /// How many times as long they took, if enough of them were measured.
    pub(crate) correction: Option<f64>,
    lines: &'a LineOf<'a>,
}

impl<'a> RuleInput<'a> {
    pub(crate) fn new(analysis: &'a Analysis, lines: &'a LineOf<'a>) -> Self {
        let mut places: Vec<Place<'a>> = Vec::new();
        let mut by_place: HashMap<(&str, Option<u32>), usize> = HashMap::new();
        for site in analysis
            .sites()
            .iter()
            .filter(|site| analysis.sampled.is_none() || site.samples >= ENOUGH_SAMPLES)
        {
            // PERF: what is further out is needed once for a place, and there may be hundreds of frames.
            let stack = analysis.up_to_place(site);
            let Some(user) = stack.len().checked_sub(1) else { continue };
            let (at, call) = responsible(&stack, user);
            let frame = stack[at];
            // Nothing can be done in the standard library, and a place without a name does not help.
            if !matches!(frame.owner, Owner::User | Owner::Dependency) {
                continue;
            }
            let Some(function) = frame.function else { continue };
            let key = match (frame.file, frame.line) {
                (Some(file), Some(line)) => (file, Some(line)),
                _ => (function, None),
            };
            let place = *by_place.entry(key).or_insert_with(|| {
                places.push(place(&analysis.innermost(site, MOST_FRAMES), at, user));
                places.len() - 1
            });
            places[place].seen.push(Seen { site, call });
        }
        let time = analysis.sites().iter().map(|site| cost::of_site(site).0).sum();
        let correction = cost::correction_of_all(analysis);
        Self { analysis, places, time: Nanos(time), correction, lines }
    }

    /// Whether the source is at hand, and the line of a place has `.name(…)` in it.
    pub(crate) fn has_call(&self, place: &Place<'_>, name: &str) -> bool {
        let line = place.line.and_then(|(file, line)| (self.lines)(file, line));
        line.is_some_and(|text| {
            let code = text.split("//").next().unwrap_or_default();
            let call = format!(".{name}");
            code.match_indices(&call).any(|(at, _)| code[at + call.len()..].starts_with(['(', ':']))
        })
    }

    /// The language of a place; of the program's largest one if it is about no place.
    pub(crate) fn language(&self, place: Option<&Place<'a>>) -> Language {
        let requests = |place: &&Place<'a>| {
            place.seen.iter().map(|seen| seen.site.allocations + seen.site.reallocations).sum::<u64>()
        };
        let own = self.places.iter().filter(|place| place.foreign.is_none());
        place.or_else(|| own.max_by_key(requests)).map_or(Language::C, |place| place.language)
    }

    /// Requests of the whole program.
    pub(crate) fn requests(&self) -> u64 {
        self.analysis.totals.allocations + self.analysis.totals.reallocations
    }
}

/// Which frame's code a block is allocated for, and what it is for there. The user's nearest frame, unless that called a
/// dependency, which needed the block itself. What serde makes is what it was asked for, by the type that it fills.
fn responsible<'a>(stack: &[Frame<'a>], user: usize) -> (usize, Call<'a>) {
    let of_user = call(stack, user);
    let of_serde = [
        Purpose::DeserializedString,
        Purpose::DeserializedEscapes,
        Purpose::DeserializerScratch,
        Purpose::Deserialized,
    ];
    // As with the user's own code: who asked for a copy says more than the line that copies. Without a name, its caller says more.
    let is_responsible = |at: &usize| {
        let frame = &stack[*at];
        frame.owner == Owner::Dependency && frame.function.is_some() && !is_copy(stack, *at)
    };
    let dependency = (0..user).find(is_responsible);
    match dependency.filter(|_| !of_serde.contains(&of_user.what)) {
        Some(at) => (at, call(stack, at)),
        None => (user, of_user),
    }
}

fn place<'a>(stack: &[Frame<'a>], at: usize, user: usize) -> Place<'a> {
    let frame = stack[at];
    let is_foreign = frame.owner == Owner::Dependency;
    let own = name_of(&stack[at..]);
    let foreign = is_foreign.then(|| {
        let caller = stack[user];
        let package = package_of_frame(&frame);
        Foreign {
            package,
            called_from: (caller.owner == Owner::User)
                .then(|| label(name_of(&stack[user..]), caller.file.zip(caller.line))),
            through: package.and_then(|package| through(&stack[at..user], package)),
        }
    });
    Place {
        // A dependency's `new` says little without its type.
        function: match frame.function.filter(|name| is_foreign && base(name) == own) {
            Some(name) => with_type(name).into(),
            None => own.into(),
        },
        line: frame.file.zip(frame.line),
        foreign,
        language: language(stack, &frame),
        seen: Vec::new(),
    }
}

fn package_of_frame<'a>(frame: &Frame<'a>) -> Option<Package<'a>> {
    package_of(frame.file, frame.module.map(|module| module.path.as_str()))
}

/// What the program calls, of the frames between a place and it, if that is another package than the place's.
fn through<'a>(frames: &[Frame<'a>], package: Package<'a>) -> Option<Through<'a>> {
    let of_others = |frame: &&Frame<'a>| frame.owner == Owner::Dependency;
    let called = frames.iter().rev().find(of_others).and_then(package_of_frame)?;
    if called.name == package.name || called.version.is_none() {
        return None;
    }
    // Where it goes on to other packages.
    let at = frames.iter().position(|frame| of_others(&frame) && package_of_frame(frame) == Some(called))?;
    let frame = frames[at];
    let function = format!("{} of {called}", name_of(&frames[at..]));
    Some(Through { package: called, function: label(&function, frame.file.zip(frame.line)) })
}

/// `solve_round (v01_simple.rs:92)`
fn label(function: &str, line: Option<(&str, u32)>) -> String {
    match line {
        Some((file, line)) => format!("{function} ({}:{line})", file_name(file)),
        None => function.to_owned(),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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
    match frame.file.and_then(|f| f.rsplit_once('.')).map(|(_, ending)| ending) {
        Some("rs") => Language::Rust,
        Some("c") => Language::C,
        Some("cc" | "cpp" | "cxx" | "C" | "hpp" | "hh" | "hxx" | "ipp" | "tcc") => Language::Cxx,
        _ if stack.iter().any(|f| f.owner == Owner::RustStd) => Language::Rust,
        // A header may be of either.
        _ if frame.function.is_some_and(|name| name.contains("::")) => Language::Cxx,
        _ if stack.iter().any(|f| f.owner == Owner::CxxStd) => Language::Cxx,
        _ => Language::C,
    }
}

impl<'a> Place<'a> {
    /// How a title names it: `solve_round (v01_simple.rs:92)`, `Pool::get of regex-automata 0.4.9 (pool.rs:123)`.
    pub(crate) fn label(&self) -> String {
        let function = self.function.as_ref();
        if let Some(package) = self.foreign.as_ref().and_then(|foreign| foreign.package) {
            return label(&format!("{function} of {package}"), self.line);
        }
        // What `#[derive(Deserialize)]` wrote has names that the user never saw.
        match self.line {
            Some((file, line)) if matches!(function, "visit_map" | "visit_seq" | "deserialize") => {
                format!("the type at {}:{line}", file_name(file))
            }
            line => label(function, line),
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

    /// The parts of it that are for one of these purposes, by what the line calls for them, the largest first. A line may do
    /// several things: what is true of the one does not have to be true of the other.
    pub(crate) fn parts(&self, wanted: &[Purpose]) -> Vec<Part<'a>> {
        self.parts_where(|seen| wanted.contains(&seen.call.what))
    }

    /// The same of what `wanted` accepts.
    pub(crate) fn parts_where(&self, wanted: impl Fn(&Seen<'a>) -> bool) -> Vec<Part<'a>> {
        let mut parts: Vec<Part<'a>> = Vec::new();
        for seen in self.seen.iter().filter(|seen| wanted(seen)) {
            match parts.iter_mut().find(|part| part.callee == seen.call.callee) {
                Some(part) => part.add(seen),
                None => {
                    let mut part = Part::default();
                    part.add(seen);
                    parts.push(part);
                }
            }
        }
        parts.sort_by_key(|part| std::cmp::Reverse(part.requests()));
        parts
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
    pub(crate) reallocations: u64,
    pub(crate) bytes: u64,
    pub(crate) deallocations: u64,
    pub(crate) temporary: u64,
    /// The temporary ones included.
    pub(crate) short_lived: u64,
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
        self.reallocations += site.reallocations;
        self.bytes = self.bytes.saturating_add(site.allocated_bytes.0);
        self.deallocations += site.deallocations;
        self.temporary += site.freed_after.temporary();
        self.short_lived += site.freed_after.short_lived();
        self.most_blocks += site.most_blocks;
        self.buffers += site.growth.buffers;
        self.steps += site.growth.steps;
        self.copied_bytes = self.copied_bytes.saturating_add(site.copied_bytes.0);
        self.exit_blocks += site.live_at_exit_blocks;
    }

    /// Parts of one place together, and how many of their blocks were soon freed; `None` if there are no parts.
    pub(crate) fn together(parts: Vec<Part<'a>>) -> Option<(Part<'a>, u64)> {
        let soon = parts.iter().map(Part::thrown_away).sum();
        Some((parts.into_iter().reduce(Part::join)?, soon))
    }

    fn join(mut self, other: Part<'a>) -> Self {
        if other.most > self.most {
            (self.most, self.callee) = (other.most, other.callee);
        }
        self.sites.extend(other.sites);
        self.allocations += other.allocations;
        self.reallocations += other.reallocations;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.deallocations += other.deallocations;
        self.temporary += other.temporary;
        self.short_lived += other.short_lived;
        self.most_blocks += other.most_blocks;
        self.buffers += other.buffers;
        self.steps += other.steps;
        self.copied_bytes = self.copied_bytes.saturating_add(other.copied_bytes);
        self.exit_blocks += other.exit_blocks;
        self
    }

    /// How many of its blocks were soon freed: all if one could serve for them, else those that were short-lived.
    pub(crate) fn thrown_away(&self) -> u64 {
        if self.is_sequential() { self.made() } else { self.short_lived.min(self.made()) }
    }

    /// How many buffers or values were made: a block that took the place of a smaller one is the same buffer.
    pub(crate) fn made(&self) -> u64 {
        self.allocations.saturating_sub(self.steps.saturating_sub(self.reallocations))
    }

    /// Allocations and reallocations.
    pub(crate) fn requests(&self) -> u64 {
        self.allocations + self.reallocations
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
        // A block that grows elsewhere ends there.
        let ended_here = self.exit_blocks <= 1 && self.deallocations.saturating_mul(2) >= self.made();
        ended_here && self.most_blocks <= MOST_AT_ONCE.max(2 * self.sites.len() as u64).min(2 * MOST_AT_ONCE)
    }
}

/// So many blocks may be live at one time where they are said to come one after another.
const MOST_AT_ONCE: u64 = 4;

#[cfg(test)]
mod tests {
    use crate::testing::Program;

    #[test]
    fn what_a_library_does_in_functions_without_names_is_its_named_functions() {
        let mut p = Program::default();
        p.module("/usr/lib/x86_64-linux-gnu/libhunspell-1.7.so.0");
        let stack = p.stack(&["||", "||", "Hunspell::Hunspell(char const*)||"]);
        p.alloc(stack, 9);
        let analysis = p.analysis();
        let input = super::RuleInput::new(&analysis, &|_, _| None);
        let labels: Vec<_> = input.places.iter().map(|place| place.label()).collect();
        assert_eq!(labels, ["Hunspell::Hunspell of libhunspell-1.7.so.0"]);
    }
}
