//! Call sites by names that outlive a build, and the frames of their stacks.
//!
//! What a build changes is no part of an id: lines, hashes in names, versions in file names. So sites that differ in these alone become
//! one, as for `heapwise diff`.

use crate::id::Id;
use crate::text::harmless;
use heapwise_analysis::{Analysis, Bytes, Frame, Numbers, Site};
use heapwise_diagnosis::{lasting_function, lasting_module};
use heapwise_trace::sampling;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// Call sites that have a row each. All others of a recording have one together.
pub const MOST_SITES: usize = 20_000;

/// Frames of a stack that take part in its id, from its two ends: as many as reports show.
const INNER: usize = 384;
const OUTER: usize = 128;
/// What stands for those between.
const OMITTED: &str = "[frames omitted]";
/// What stands at the end of a stack that ended before the thread's first function.
const CUT: &str = "[cut stack]";

/// All call sites of a recording.
#[derive(Debug)]
pub(crate) struct Stacks<'a> {
    /// Those with a stack, the most important first; then one without that has the sums of all others, if there are others.
    pub(crate) sites: Vec<SiteRow<'a>>,
    /// The frames of those stacks, each once.
    pub(crate) frames: Vec<FrameRow<'a>>,
    /// The stack of each site of the analysis.
    of_sites: Vec<Id>,
}

/// Sites with the same names on their stacks.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteRow<'a> {
    /// `None` for the sums of all that have no row.
    pub(crate) stack: Option<Id>,
    /// Its frames from the innermost outwards.
    pub(crate) frames: Vec<Id>,
    /// The user's nearest frame of the site with the most allocated bytes.
    pub(crate) place: Option<Frame<'a>>,
    pub(crate) sums: Sums,
}

/// What is added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) numbers: Numbers,
    pub(crate) deallocations: u64,
    pub(crate) failed_allocations: u64,
    pub(crate) freed_on_other_thread: u64,
    pub(crate) copied_bytes: u64,
    pub(crate) growth_steps: u64,
    pub(crate) allocator_time_ns: Option<u64>,
    pub(crate) samples: u64,
    pub(crate) requests_variance: f64,
    pub(crate) allocated_bytes_variance: f64,
    /// Requests by the bits of their size.
    pub(crate) sizes: Vec<u64>,
    /// Freed blocks by the bits of their lifetime in units of 1,024 ns.
    pub(crate) lifetimes: Vec<u64>,
}

/// A function of a module.
#[derive(Clone, Debug)]
pub(crate) struct FrameRow<'a> {
    pub(crate) id: Id,
    pub(crate) module: String,
    pub(crate) build_id: &'a str,
    pub(crate) function: String,
    pub(crate) file: Option<&'a str>,
    pub(crate) line: Option<u32>,
}

impl<'a> Stacks<'a> {
    pub(crate) fn new(analysis: &'a Analysis, recording: Id) -> Self {
        let mut names = Names { recording: recording.to_string(), ..Names::default() };
        let mut rows: FxHashMap<Id, (&Site, Sums)> = FxHashMap::default();
        let mut of_sites = Vec::with_capacity(analysis.sites().len());
        for site in analysis.sites() {
            let id = Id::of_ids(&names.stack(analysis, site));
            // Sites come with the most allocated bytes first.
            rows.entry(id).or_insert_with(|| (site, Sums::default())).1.add(&Sums::of(analysis, site));
            of_sites.push(id);
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        let importance = |sums: &Sums| sums.importance(analysis);
        rows.sort_by_cached_key(|(id, (_, sums))| (Reverse(importance(sums)), *id));
        let mut rest: Option<Sums> = None;
        for (_, (_, sums)) in rows.drain(MOST_SITES.min(rows.len())..) {
            rest.get_or_insert_default().add(&sums);
        }
        let mut sites: Vec<SiteRow<'a>> = Vec::with_capacity(rows.len() + 1);
        let mut wanted = FxHashSet::default();
        for (id, (site, sums)) in rows {
            let frames = names.stack(analysis, site);
            wanted.extend(frames.iter().copied());
            sites.push(SiteRow { stack: Some(id), frames, place: place(analysis, site), sums });
        }
        sites.extend(rest.map(|sums| SiteRow { sums, ..SiteRow::default() }));
        let frames = names.rows.into_iter().filter(|row| wanted.contains(&row.id)).collect();
        Self { sites, frames, of_sites }
    }

    /// The stack of a site of the analysis.
    pub(crate) fn of_site(&self, site: heapwise_analysis::SiteId) -> Option<Id> {
        self.of_sites.get(site.0 as usize).copied()
    }
}

/// What a frame is called in all builds; the module and the address if it has no name.
pub(crate) fn name(frame: &Frame<'_>) -> String {
    match (frame.function, frame.module) {
        (Some(function), _) => harmless(&lasting_function(function)).into_owned(),
        (None, Some(module)) => format!("{}+{:#x}", harmless(&lasting_module(&module.path)), frame.address),
        (None, None) => "[no file]".to_owned(),
    }
}

/// The user's nearest frame.
fn place<'a>(analysis: &'a Analysis, site: &Site) -> Option<Frame<'a>> {
    let at = site.user_frame?;
    analysis.innermost(site, at + 1).get(at).copied()
}

/// The frames that were met.
#[derive(Debug, Default)]
struct Names<'a> {
    /// The id of the recording.
    recording: String,
    /// PERF: names repeat in nearly every stack, and each is hashed once.
    known: FxHashMap<Spot<'a>, Id>,
    rows: Vec<FrameRow<'a>>,
    has_row: FxHashSet<(Id, &'a str)>,
}

/// What a frame is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Spot<'a> {
    function: Option<&'a str>,
    path: &'a str,
    build_id: &'a str,
    /// Of a frame without a function.
    address: u64,
}

impl<'a> Names<'a> {
    /// The ids of a stack's frames, from the innermost outwards.
    fn stack(&mut self, analysis: &'a Analysis, site: &Site) -> Vec<Id> {
        let (ends, omitted) = analysis.stack_ends(site, INNER, OUTER);
        let mut ids: Vec<Id> = Vec::with_capacity(ends.len() + 2);
        for (at, frame) in ends.iter().enumerate() {
            if omitted > 0 && at == INNER {
                ids.push(self.mark(OMITTED));
            }
            ids.push(self.frame(frame));
        }
        if site.cut {
            ids.push(self.mark(CUT));
        }
        ids
    }

    fn frame(&mut self, frame: &Frame<'a>) -> Id {
        let (path, build_id) = frame.module.map_or(("", ""), |m| (m.path.as_str(), m.build_id.as_str()));
        let spot = Spot { function: frame.function, path, build_id, address: frame.address };
        if let Some(&id) = self.known.get(&spot) {
            return id;
        }
        let (module, function) = (harmless(&lasting_module(path)).into_owned(), name(frame));
        let build = if build_id.is_empty() { &*self.recording } else { build_id };
        let id = match frame.function.is_none() && frame.module.is_some() {
            // What has no name is the same in the same build alone, and without a build id in the same recording.
            true => Id::of(&[module.as_bytes(), build.as_bytes(), function.as_bytes()]),
            false => Id::of(&[module.as_bytes(), function.as_bytes()]),
        };
        self.known.insert(spot, id);
        let row = FrameRow { id, module, build_id, function, file: frame.file, line: frame.line };
        self.add(row);
        id
    }

    fn mark(&mut self, mark: &'static str) -> Id {
        let id = Id::of(&[b"", mark.as_bytes()]);
        let module = String::new();
        self.add(FrameRow { id, module, build_id: "", function: mark.to_owned(), file: None, line: None });
        id
    }

    fn add(&mut self, row: FrameRow<'a>) {
        if self.has_row.insert((row.id, row.build_id)) {
            self.rows.push(row);
        }
    }
}

impl Sums {
    fn of(analysis: &Analysis, site: &Site) -> Self {
        let mut sums = Self {
            numbers: Numbers::from(site),
            deallocations: site.deallocations,
            failed_allocations: site.failed_allocations,
            freed_on_other_thread: site.freed_on_other_thread,
            copied_bytes: site.copied_bytes.0,
            growth_steps: site.growth.steps,
            allocator_time_ns: site.allocator_time.map(|time| time.time.0),
            samples: site.samples,
            ..Self::default()
        };
        for (Bytes(size), requests) in site.sizes.steps() {
            count(&mut sums.sizes, size, requests);
            // Horvitz and Thompson: each of the recorded blocks, of which there are 1 in `weight`, adds weight (weight - 1) x².
            let over = (sampling::weight(analysis.meta.sample_bytes, size) - 1) as f64 * requests as f64;
            sums.requests_variance += over;
            sums.allocated_bytes_variance += over * (size as f64).powi(2);
        }
        site.lifetimes.steps().for_each(|(time, blocks)| count(&mut sums.lifetimes, time.0 >> 10, blocks));
        sums
    }

    fn add(&mut self, other: &Self) {
        self.numbers += other.numbers;
        let sums = [
            (&mut self.deallocations, other.deallocations),
            (&mut self.failed_allocations, other.failed_allocations),
            (&mut self.freed_on_other_thread, other.freed_on_other_thread),
            (&mut self.copied_bytes, other.copied_bytes),
            (&mut self.growth_steps, other.growth_steps),
            (&mut self.samples, other.samples),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        if let Some(more) = other.allocator_time_ns {
            self.allocator_time_ns = Some(self.allocator_time_ns.unwrap_or(0).saturating_add(more));
        }
        self.requests_variance += other.requests_variance;
        self.allocated_bytes_variance += other.allocated_bytes_variance;
        for (ours, theirs) in [(&mut self.sizes, &other.sizes), (&mut self.lifetimes, &other.lifetimes)] {
            ours.resize(ours.len().max(theirs.len()), 0);
            ours.iter_mut().zip(theirs).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
        }
    }

    /// Its shares in what sites are ranked by, together, in billionths. Of 20,001 sites the least has less than 4/20,000 in each.
    fn importance(&self, analysis: &Analysis) -> u64 {
        let (ours, all) = (&self.numbers, &analysis.totals);
        let shares = [
            (
                ours.allocations.wrapping_add(ours.reallocations),
                all.allocations.wrapping_add(all.reallocations),
            ),
            (ours.allocated_bytes, all.allocated_bytes.0),
            (ours.peak_bytes, all.peak_live_bytes.0),
            (ours.live_at_exit_bytes, all.never_freed_bytes.0),
        ];
        // A damaged recording may have any sums.
        let share = |(part, all): (u64, u64)| ((part as f64 / all.max(1) as f64).min(1.0) * 1e9) as u64;
        shares.map(share).into_iter().sum()
    }
}

/// Counts numbers by their bits: place 0 is the number 0, place `i` is `2^(i-1) ..= 2^i - 1`.
fn count(places: &mut Vec<u64>, number: u64, n: u64) {
    let at = (u64::BITS - number.leading_zeros()) as usize;
    if places.len() <= at {
        places.resize(at + 1, 0);
    }
    places[at] = places[at].wrapping_add(n);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_by_their_bits() {
        let mut places = Vec::new();
        [0, 1, 2, 3, 4, 7, 8].into_iter().for_each(|number| count(&mut places, number, 10));
        assert_eq!(places, [10, 10, 20, 20, 10]);
        count(&mut places, u64::MAX, 1);
        assert_eq!(places.len(), 65);
    }
}
